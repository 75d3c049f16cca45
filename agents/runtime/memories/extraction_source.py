"""Source of an extraction: the texts of a run that it may read, and their owner.

Only texts of the person or program that started the run, and the agent's answers: never results of
tools, messages of agents or mail of strangers. An agent that has read text by outsiders may repeat
it, so its answers are left out then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final
from uuid import UUID

from agents.choices import RunKind
from agents.journal.events import ModelAnswered, RunSteered
from agents.loop.extraction import Line, Neighbour, block, fitting
from agents.models import MemoryExtraction, Message, Run, RunEvent
from agents.runtime.rights.mixed_data import labels_read
from heartbit_site.base.audit import BY_CHANNEL
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Label, ToolSpec
from memory.choices import Scope
from memory.models import MemoryItem
from memory.place import MemoryPlace
from memory.querysets import MemoryQuerySet
from memory.recall import recall

_MOST_EARLIER: Final = 5
_MOST_CLOSE: Final = 20
#: Memories shown to the model: a contradiction may share no word with what it contradicts.
_MOST_NEIGHBOURS: Final = 100
_MOST_NEIGHBOUR_TOKENS: Final = 4_000
_MOST_QUERY: Final = 2_000


class SourceGoneError(HeartbitError):
    """The source run was deleted, or has another extraction."""


@dataclass(frozen=True, slots=True)
class Source:
    """A run, and its texts that may be read.

    Attributes:
        place: Scope and owners of the run's memories.
        lines: Texts of the run and of earlier runs of its conversation, in order.
    """

    run: Run
    place: MemoryPlace
    lines: tuple[Line, ...]

    @property
    def is_silent(self) -> bool:
        """True if no text of the run itself may be read."""
        return not any(line.is_new and line.by == "person" for line in self.lines)

    def neighbours(self) -> MemoryQuerySet:
        """Return the memories that may be replaced, without those from text by outsiders."""
        rows: MemoryQuerySet = MemoryItem.objects.live().filter(
            **self.place.columns(), from_outsiders=False
        )
        return rows

    def block(self) -> str:
        """Return the model's input: the lines, and the memories closest to them."""
        words = " ".join(line.text for line in self.lines if line.is_new)[:_MOST_QUERY]
        rows, workspace_id = self.neighbours(), self.run.workspace_id
        # The closest memories first, then the most important ones up to the limit.
        hits = recall(rows, words, limit=_MOST_CLOSE, workspace_id=workspace_id).hits
        hits += recall(rows, "", limit=_MOST_NEIGHBOURS).hits
        items = list({hit.item.pk: hit.item for hit in hits}.values())[:_MOST_NEIGHBOURS]
        known = [Neighbour(one.pk, one.text, f"{one.updated_at:%Y-%m-%d}") for one in items]
        return block(self.lines, fitting(known, _MOST_NEIGHBOUR_TOKENS), self.run.created_at)


def load_source(run_id: UUID, find: Callable[[str], ToolSpec | None]) -> Source:
    """Return the source of an extraction.

    Args:
        run_id: The run that extracts.
        find: Returns a tool by its name; a run that called an unknown one may have read anything.

    Raises:
        SourceGoneError: The source was deleted, or has another extraction.
    """
    row = MemoryExtraction.objects.select_related("source").filter(run=run_id).first()
    if row is None:
        raise SourceGoneError(
            "The run to extract memories from was deleted, or has another extraction."
        )
    run = row.source
    place = _place(run)
    if row.has_person and run.started_user_id is None:  # deleted account: the texts have no owner
        return Source(run, place, ())
    clean = Label.UNTRUSTED not in labels_read(run.root_id, find)
    said = [_lines(one, run, with_answer=clean) for one in (*_earlier(run), run)]
    return Source(run, place, tuple(chain.from_iterable(said)))


def words_of(run_id: UUID, find: Callable[[str], ToolSpec | None]) -> str:
    """Return the lines that an extraction read of its source, without the memories shown to it.

    Those memories change, and not everyone who sees the run may read them. Empty: the source is
    gone.
    """
    try:
        source = load_source(run_id, find)
    except SourceGoneError:
        return ""
    return block(source.lines, (), source.run.created_at)


def _place(run: Run) -> MemoryPlace:
    """Return the place of a run's memories: its person's, else its conversation's or agent's."""
    if run.started_user_id is not None:
        return MemoryPlace(run.workspace_id, Scope.PERSON, run.agent, run.started_user_id)
    if run.conversation_id is not None:
        return MemoryPlace(
            run.workspace_id, Scope.CONVERSATION, run.agent, conversation_id=run.conversation_id
        )
    return MemoryPlace(run.workspace_id, Scope.AGENT, run.agent)


def _earlier(run: Run) -> Sequence[Run]:
    """Return the latest earlier runs of the conversation that the same person started."""
    if run.conversation_id is None:
        return ()
    rows = Run.objects.filter(
        conversation=run.conversation_id,
        kind=RunKind.AGENT,
        created_at__lt=run.created_at,
        started_at__isnull=False,
        finished_at__isnull=False,
        started_user=run.started_user_id,
    )
    return list(rows.order_by("-created_at")[:_MOST_EARLIER])[::-1]


def _lines(run: Run, source: Run, *, with_answer: bool) -> Iterator[Line]:
    is_new = run.pk == source.pk
    turn = 0
    if _speaks_for_itself(run):
        yield Line("person", run.task, 1, is_new)
    wanted = (RunSteered.type, ModelAnswered.type)
    for event in RunEvent.objects.filter(run=run, type__in=wanted).order_by("seq"):
        if event.type == ModelAnswered.type:
            turn = event.payload["turn"]
            continue
        said, by = event.payload, event.payload.get("by", "")
        if said.get("source", "person") == "person" and by == run.started_by and _is_member(by):
            yield Line("person", said["text"], turn + 1, is_new)
    if with_answer and run.output:
        yield Line("agent", run.output, turn, is_new)


def _speaks_for_itself(run: Run) -> bool:
    """Return True if a person or program wrote the run's task: not a channel, not an agent."""
    by_agent = Message.objects.filter(run_id=run.pk, source_run_id__isnull=False).exists()
    return _is_member(run.started_by) and not by_agent and run.hops == 0


def _is_member(name: str) -> bool:
    return not name.startswith(BY_CHANNEL)
