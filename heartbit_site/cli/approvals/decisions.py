"""Decisions of a person about a call that waits, here or at a server. No Django by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.approvals.kinds import QUESTION, WaitingCall, kind_of
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.terminal.errors import USAGE, CommandError
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.contract import approvals
from tools.calls.questions import read_answer

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend

PLACES: Final[Mapping[str, str]] = {
    "terminal": "in another terminal",
    "inline": "in another terminal",
    "api": "through the API",
    "admin": "in the admin",
    "grant": "with a standing permission",
}
_ENDS: Final[Mapping[str, str]] = {
    "expired": "nobody decided in time",
    "cancelled": "its run was cancelled",
}
Scope = Literal["run", "agent"]
Outcome = Literal["retry", "confirm", "skip"]


@dataclass(frozen=True, slots=True)
class Approve:
    """Let it run as it was shown.

    Attributes:
        always: Also such calls from now on, in this run or of this agent.
        until: When that ends; None: never, or with the run.
    """

    always: Scope | None = None
    until: datetime | None = None

    @property
    def scope(self) -> str:
        """Scope of the choice, for a sentence."""
        if self.always is None:
            return ""
        until = f" until {self.until.astimezone():%Y-%m-%d %H:%M}" if self.until else ""
        return f", and always {'in this run' if self.always == 'run' else 'for this agent'}{until}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Let it run with other arguments, a JSON object."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer it, for it is a question: as it was written, text or JSON."""

    text: str


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not let it run; the model reads the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Settle:
    """Outcome of an uncertain call, or how to resolve it.

    Attributes:
        outcome: `retried`: it is made again; `confirmed`: it took effect; `skipped`: it is left.
        result: With `confirm`: what the model reads as its answer.
    """

    outcome: Outcome
    result: str = ""


Choice = Approve | Edit | Answer | Deny | Settle


class Skip:
    """Leave the call to another person."""


def value_of(call: WaitingCall, answer: Answer) -> Any:
    """Return the JSON value that an answer means.

    Raises:
        InvalidEditError: It is to be JSON, and is none.
    """
    try:
        return read_answer(call.arguments, answer.text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error


def unfit(call: WaitingCall, choice: Choice) -> str | None:
    """Return why a choice does not fit a call, as a sentence; None: it fits."""
    if kind_of(call) is QUESTION and isinstance(choice, Approve | Edit):
        return f"Call {call.call_id} is a question: say --answer TEXT, or --deny REASON."
    if kind_of(call) is not QUESTION and isinstance(choice, Answer):
        return f"Call {call.call_id} asks nothing: say {kind_of(call).options}."
    return None


def done(call: WaitingCall, choice: Choice, missing: int = 0) -> str:
    """Return the sentence about a decision that was taken.

    Args:
        call: The call.
        choice: The decision.
        missing: The number of people who still have to approve the call.
    """
    subject = f"{visible(call.tool)} of {visible(call.agent)}"
    if missing:
        people = "1 more person has" if missing == 1 else f"{missing} more people have"
        return f"Your approval of {subject} counts, {people} to approve it."
    match choice:
        case Approve():
            return f"Approved {subject}{choice.scope}."
        case Edit():
            return f"Approved {subject} with other arguments."
        case Answer():
            return f"Answered {subject}."
        case Deny():
            return f"{'Declined' if kind_of(call) is QUESTION else 'Denied'} {subject}."
        case Settle("retry"):
            return f"To be made again: {subject}."
        case Settle("confirm"):
            return f"It took effect: {subject}."
        case Settle():
            return f"Left as it is: {subject}."


async def decide(backend: Backend, call: WaitingCall, choice: Choice) -> str:
    """Decide a call as it was shown and say, in one sentence, what was done.

    Raises:
        InvalidEditError: The choice is refused; nothing was decided.
        ConflictError: Another person was quicker, or the run has ended.
    """
    missing = await backend.in_thread(lambda: _decide(backend, call, choice))
    return done(call, choice, missing)


def _decide(backend: Backend, call: WaitingCall, choice: Choice) -> int:
    """Return how many more people have to approve the call."""
    place = {"run_id": call.run_id, "call_id": call.call_id}
    try:
        if isinstance(choice, Settle):
            word = {"outcome": choice.outcome, "result": choice.result}
            backend.call(approvals.RESOLVE_CALL, checked(approvals.OutcomeIn, word), **place)
            return 0
        said = {**call.model_dump(include={"digest"}), **_said(call, choice)}
        return backend.call(
            approvals.DECIDE, checked(approvals.DecisionIn, said), **place
        ).remaining_approvals
    except CommandError as error:
        if error.code != USAGE:
            raise
        raise InvalidEditError(str(error)) from error


def closed(backend: Backend, call: WaitingCall) -> str | None:
    """Return why a call waits no longer, as a sentence; None while it waits."""
    asked = call.model_dump(include={"run_id", "call_id", "digest", "question"})
    state = backend.call(approvals.GET_QUESTION, **asked)
    if state.state == "open":
        return None
    if state.state == "closed":
        end = "its run has ended" if state.at is not None else "it is not asked any more"
        return f"The call waits no longer: {end}."
    if state.state in _ENDS:
        return f"The call waits no longer: {_ENDS[state.state]}."
    place = PLACES.get(state.via, "elsewhere")
    return f"The call was {state.state} by {visible(state.by) or 'somebody'} {place}."


def _said(call: WaitingCall, choice: Approve | Edit | Answer | Deny) -> dict[str, Any]:
    """Return a choice as the request says it."""
    match choice:
        case Approve(None, _):
            return {"verdict": "approve"}
        case Approve(scope, until):
            end = until.isoformat() if until is not None else None
            return {"verdict": "approve", "always": {"scope": scope, "until": end}}
        case Edit(text):
            return {"verdict": "edit", "arguments": _object(text)}
        case Answer():
            return {"verdict": "answer", "answer": value_of(call, choice)}
        case Deny(reason):
            return {"verdict": "deny", "reason": reason}


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error
    if not isinstance(value, dict):
        raise InvalidEditError('The arguments are a JSON object, such as {"name": "value"}.')
    return value
