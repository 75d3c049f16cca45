"""Decisions of a person about a call that waits, here or at a server. No Django by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.approvals.kinds import QUESTION, WaitingCall, kind_of
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
Verdict = Literal["approve", "edit", "answer", "deny"]
Outcome = Literal["retry", "confirm", "skip"]
OUTCOMES: Final = ("retry", "confirm", "skip")


@dataclass(frozen=True, slots=True)
class CallChoice:
    """Decision of a person about a call.

    Attributes:
        verdict: `approve`: it runs as it was shown; `edit`: with other arguments; `answer`: it is a
            question; `deny`: it does not run. Of an uncertain call `retry`: it is made again;
            `confirm`: it took effect; `skip`: it is left.
        text: The arguments as JSON, the answer as it was written, the reason, or with `confirm` the
            result that the model reads.
        always: Approve also such calls from now on, in this run or of this agent.
        until: When that ends; None: never, or with the run.
    """

    verdict: Verdict | Outcome
    text: str = ""
    always: Scope | None = None
    until: datetime | None = None

    @property
    def scope(self) -> str:
        """Scope of an approval, for a sentence."""
        if self.always is None:
            return ""
        until = f" until {self.until.astimezone():%Y-%m-%d %H:%M}" if self.until else ""
        return f", and always {'in this run' if self.always == 'run' else 'for this agent'}{until}"


def value_of(call: WaitingCall, text: str) -> Any:
    """Return the JSON value that an answer means.

    Raises:
        InvalidEditError: It is to be JSON, and is none.
    """
    try:
        return read_answer(call.arguments, text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error


def unfit(call: WaitingCall, choice: CallChoice) -> str | None:
    """Return why a choice does not fit a call, as a sentence; None: it fits."""
    if kind_of(call) is QUESTION and choice.verdict in ("approve", "edit"):
        return f"Call {call.call_id} is a question: say --answer TEXT, or --deny REASON."
    if kind_of(call) is not QUESTION and choice.verdict == "answer":
        return f"Call {call.call_id} asks nothing: say {kind_of(call).options}."
    return None


def done(call: WaitingCall, choice: CallChoice, missing: int = 0) -> str:
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
    refused = "Declined" if kind_of(call) is QUESTION else "Denied"
    sentences = {
        "approve": f"Approved {subject}{choice.scope}.",
        "edit": f"Approved {subject} with other arguments.",
        "answer": f"Answered {subject}.",
        "deny": f"{refused} {subject}.",
        "retry": f"To be made again: {subject}.",
        "confirm": f"It took effect: {subject}.",
        "skip": f"Left as it is: {subject}.",
    }
    return sentences[choice.verdict]


async def decide(backend: Backend, call: WaitingCall, choice: CallChoice) -> str:
    """Decide a call as it was shown and say, in one sentence, what was done.

    Raises:
        InvalidEditError: The choice is refused; nothing was decided.
        ConflictError: Another person was quicker, or the run has ended.
    """
    missing = await backend.in_thread(lambda: _decide(backend, call, choice))
    return done(call, choice, missing)


def _decide(backend: Backend, call: WaitingCall, choice: CallChoice) -> int:
    """Return how many more people have to approve the call."""
    place = {"run_id": call.run_id, "call_id": call.call_id}
    try:
        if choice.verdict in OUTCOMES:
            word = {"outcome": choice.verdict, "result": choice.text}
            backend.call(approvals.RESOLVE_CALL, word, **place)
            return 0
        said = {**call.model_dump(include={"digest"}), **_said(call, choice)}
        return backend.call(approvals.DECIDE, said, **place).remaining_approvals
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


def _said(call: WaitingCall, choice: CallChoice) -> dict[str, Any]:
    """Return a choice as the request says it."""
    said: dict[str, Any] = {"verdict": choice.verdict}
    match choice.verdict:
        case "edit":
            said["arguments"] = _object(choice.text)
        case "answer":
            said["answer"] = value_of(call, choice.text)
        case "deny":
            said["reason"] = choice.text
    if choice.always is not None:
        end = choice.until.isoformat() if choice.until is not None else None
        said["always"] = {"scope": choice.always, "until": end}
    return said


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error
    if not isinstance(value, dict):
        raise InvalidEditError('The arguments are a JSON object, such as {"name": "value"}.')
    return value
