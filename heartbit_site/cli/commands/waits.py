"""`heartbit approve`, `resolve` and `answer`: what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.approvals.decisions import CallChoice, Outcome, Scope, Verdict
from heartbit_site.cli.approvals.kinds import APPROVAL, OUTCOME
from heartbit_site.cli.backend.chosen import backend, print_all
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.following.pending_calls import list_or_decide
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import with_groups
from heartbit_site.cli.terminal.errors import CommandError, UsageError
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.terminal.table import Table, print_done
from heartbit_site.cli.terminal.times import until
from heartbit_site.contract.waits import ANSWER_WAIT, LIST_WAITS, AnswerIn, WaitOut

CALL = common.argument("CALL", "Decide this call, e.g. 1.0; none: all.", None)
DIGEST = common.option("", "Only the call that --json showed with it.")


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """Options that say how a call is decided."""

    yes: bool = common.flag("--yes -y", "Approve the call as it was shown.")
    edit: str | None = common.option("JSON", "Approve the call with these arguments.", None)
    answer: str | None = common.option(
        "TEXT", "Answer it, if it is a question: text, or JSON.", None
    )
    deny: str | None = common.option("REASON", "Deny the call; the model reads REASON.", None)
    always: Scope | None = common.option(
        "", "With --yes: such calls in this run, or of this agent, from now on.", None
    )
    until: str | None = common.option(
        "WHEN", "With --always: 2h, 3d, 2026-12-31; else for good.", None
    )

    def choice(self) -> CallChoice | None:
        """Return the choice that the options make; None: the person is asked.

        Raises:
            CommandError: The options contradict each other, or `until` is no moment to come.
        """
        texts: dict[Verdict, str | None] = {
            "edit": self.edit,
            "answer": self.answer,
            "deny": self.deny,
        }
        said = [CallChoice(verdict, text) for verdict, text in texts.items() if text is not None]
        if self.yes + len(said) > 1:
            raise UsageError("Say one of --yes, --edit, --answer and --deny.")
        if self.always is None and self.until is not None:
            raise UsageError("--until goes with --always run or --always agent.")
        if self.always is not None and not self.yes:
            raise UsageError("--always goes with --yes.")
        if not self.yes:
            return said[0] if said else None
        end = None if self.until is None else until(self.until, datetime.now().astimezone())
        return CallChoice("approve", always=self.always, until=end)


@with_groups
def approve(
    run: str | None = common.ANY_RUN,
    call: str | None = CALL,
    *,
    verdict: DecisionOptions,
    digest: str = DIGEST,
) -> int:
    """Decide tool calls that wait for a person.

    Without a run it lists the waiting calls. On a terminal it then asks, one call after the other.
    What an agent asks with ask_human is answered here as well.
    """
    return list_or_decide(APPROVAL, run, call, verdict.choice(), digest=digest)


UNCERTAIN_CALL = common.argument("CALL", "Resolve this call of the run, e.g. 1.0.", None)


@dataclass(frozen=True, slots=True)
class ResolutionOptions:
    """Options that say what became of a call."""

    retry: bool = common.flag("--retry", "Make the call again: its effect may happen twice.")
    confirm: bool = common.flag("--confirm", "Record that the call took effect.")
    result: str | None = common.option("TEXT", "With --confirm: result that the model reads.", None)
    skip: bool = common.flag(
        "--skip", "Leave the call; the model reads that its outcome is unknown."
    )

    def choice(self) -> CallChoice | None:
        """Return the choice that the options make; None: the person is asked.

        Raises:
            CommandError: The options contradict each other.
        """
        said: dict[Outcome, bool] = {
            "retry": self.retry,
            "confirm": self.confirm,
            "skip": self.skip,
        }
        chosen = [outcome for outcome, is_said in said.items() if is_said]
        if len(chosen) > 1:
            raise UsageError("Say one of --retry, --confirm and --skip.")
        if self.result is not None and not self.confirm:
            raise UsageError("--result goes with --confirm.")
        return CallChoice(chosen[0], self.result or "") if chosen else None


@with_groups
def resolve(
    run: str | None = common.ANY_RUN,
    call: str | None = UNCERTAIN_CALL,
    *,
    resolution: ResolutionOptions,
) -> int:
    """Resolve uncertain tool calls, whose worker crashed while they ran.

    Without a run it lists them. On a terminal it then asks, one call after the other.
    """
    return list_or_decide(OUTCOME, run, call, resolution.choice())


WAITING_RUN = common.argument("RUN", "The run's id, or its beginning; none: list all.", None)
ANSWER = common.argument(
    "ANSWER", "The answer as JSON, null to decline; none: list the run's.", None
)
WAIT = common.option("KEY", "Answer this one of several waits of the run.")


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options that answer the review of a result."""

    approve: bool = common.flag("--approve", "Deliver the result.")
    changes: str | None = common.option("TEXT", "Let the agent change it: it reads TEXT.", None)
    edit: str | None = common.option("TEXT", "Deliver TEXT instead, JSON if the result is.", None)
    reject: str | None = common.option("REASON", "Let the run fail.", None)

    def answer(self) -> dict[str, object] | None:
        """Return the answer that the options make; None: they are not given.

        Raises:
            UsageError: The options contradict each other.
        """
        texts = {"changes": self.changes, "edit": self.edit, "reject": self.reject}
        said = [name for name, text in texts.items() if text is not None]
        if self.approve + len(said) > 1:
            raise UsageError("Say one of --approve, --changes, --edit and --reject.")
        if not said:
            return {"decision": "approve"} if self.approve else None
        field = "result" if self.edit is not None else "message"
        return {"decision": said[0], field: texts[said[0]]}


@with_groups
def answer(
    run: str | None = WAITING_RUN,
    text: str | None = ANSWER,
    *,
    review: ReviewOptions,
    wait: str = WAIT,
) -> int:
    """List and answer other waits of runs, such as reviews of results.

    These wait for a person, but are not tool calls to approve or resolve. Without an answer they
    are listed.
    """
    given = review.answer()
    if run is None or (text is None and given is None):
        return print_all(LIST_WAITS, WAITS, run=run)
    if text is not None and given is not None:
        raise UsageError("Give an answer as JSON, or one of the options of a review.")
    try:
        body = checked(AnswerIn, {"answer": given or parse_untrusted_json(text or "")})
    except UntrustedJSONError as error:
        raise UsageError(f"The answer is no JSON: {error}") from error
    server = backend()
    open_waits = server.every(LIST_WAITS, run=run).waits
    named = [one for one in open_waits if wait in ("", one.key)]
    if not named:
        raise CommandError(f"Nothing waits for an answer in run {one_line(run)[:36]}.")
    if len(named) > 1:
        names = ", ".join(one_line(f"{one.key} of run {one.run_id}") for one in named)
        raise UsageError(f"Several waits are open: name one with --wait: {names}.")
    [chosen] = named
    if review.edit is not None and not isinstance(_proposed(chosen), str):
        body = checked(AnswerIn, {"answer": {"decision": "edit", "result": _json(review.edit)}})
    answered = server.call(ANSWER_WAIT, body, run_id=chosen.run_id, key=chosen.key)
    sentence = f"Answered: {one_line(chosen.label)} of {one_line(chosen.agent)}."
    return print_done(answered, sentence)


def _proposed(wait: WaitOut) -> object:
    beginning = wait.answer_schema.get("default")
    return beginning.get("result") if isinstance(beginning, dict) else None


def _json(text: str) -> object:
    try:
        return parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise UsageError(f"The result is no JSON: {error}") from error


WAITS: Final = Table.of(
    WaitOut,
    "RUN=run_id:.18 WAIT=key FOR=label AGENT TOOL QUESTION=question:300",
    none="Nothing waits for an answer.",
)
