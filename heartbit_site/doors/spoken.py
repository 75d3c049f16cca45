"""Text of a run as a client hears it: deltas that only ever append, whatever the workers do.

Most protocols cannot take text back. So the text of a model call that is repeated, after a crash,
is held back where it differs, and the journaled answer decides. Of a run whose result people
review, all text is held back until they have approved a result, which is then said.
"""

from __future__ import annotations

from uuid import UUID

from agents.journal.events import ModelAnswered, RunCreated, RunSucceeded
from agents.live.updates import DeltaUpdate, EventUpdate, Update
from agents.output.text import as_text
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json


class SpokenText:
    """Text of one run, from its updates; those of other runs of the tree say nothing.

    Args:
        run_id: The run.
        after: Sequence number of the last event whose text was heard before.

    Attributes:
        is_reviewed: True if people review the run's result; known from its first event.
        text: What has been said so far.
    """

    def __init__(self, run_id: UUID, *, after: int = 0) -> None:
        self._run_id, self._after = run_id, after
        self.is_reviewed = False
        self.text = ""
        self._turn, self._attempt = 0, 0
        self._said = ""  # of this turn
        self._heard = ""  # of this attempt

    def take(self, update: Update) -> str:
        """Return the text that an update adds; often none."""
        if update.run_id != self._run_id:
            return ""
        if isinstance(update, DeltaUpdate):
            return "" if self.is_reviewed else self._add(self._take_delta(update))
        if not isinstance(update, EventUpdate):
            return ""
        event = update.recorded.event
        if isinstance(event, RunCreated):
            self.is_reviewed = event.review is not None
        elif isinstance(event, ModelAnswered) and not self.is_reviewed:
            self._begin(event.turn, 0)
            rest = self._rest_of(event.message.text)
            return self._add(rest) if update.recorded.seq > self._after else ""
        elif isinstance(event, RunSucceeded) and not self._has_said(event):
            structured = event.structured
            output = event.output if structured is None else as_text(structured)
            return self._add(self._rest_of(output))
        return ""

    def _has_said(self, ended: RunSucceeded) -> bool:
        """Return True if the last answer was the output, in whatever layout."""
        if ended.structured is None:
            return ended.output == self._said
        try:
            return bool(parse_untrusted_json(self._said) == ended.structured)
        except UntrustedJSONError:
            return False

    def _take_delta(self, update: DeltaUpdate) -> str:
        delta = update.delta
        if delta.kind != "text" or delta.turn < self._turn:
            return ""
        self._begin(delta.turn, delta.attempt)
        if delta.offset > len(self._heard):
            return ""  # a piece was lost: the answer has it
        self._heard = self._heard[: delta.offset] + delta.text
        return self._rest_of(self._heard) if self._heard.startswith(self._said) else ""

    def _begin(self, turn: int, attempt: int) -> None:
        if turn != self._turn:
            self._said = ""
        if (turn, attempt) != (self._turn, self._attempt):
            self._heard = ""
        self._turn, self._attempt = turn, attempt

    def _rest_of(self, whole: str) -> str:
        """Return what is still to be said of a turn's text: all of it, if another was begun."""
        rest = whole.removeprefix(self._said) if whole.startswith(self._said) else whole
        gap = "\n\n" if rest and self.text and (not self._said or rest is whole) else ""
        self._said = whole
        return gap + rest

    def _add(self, text: str) -> str:
        self.text += text
        return text
