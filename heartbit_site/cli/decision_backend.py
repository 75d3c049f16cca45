"""Backend of a person's decisions: this installation, or a server. No Django by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend import checked
from heartbit_site.cli.choices import Answer, Approve, Choice, Deny, Edit, Settle, done, value_of
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.escape import visible
from heartbit_site.contract.approvals import (
    DECIDE,
    GET_QUESTION,
    RESOLVE_CALL,
    DecisionIn,
    OutcomeIn,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.backend import Backend
    from heartbit_site.cli.kinds import WaitingCall

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
            backend.call(RESOLVE_CALL, checked(OutcomeIn, word), **place)
            return 0
        said = {**call.model_dump(include={"digest"}), **_said(call, choice)}
        return backend.call(DECIDE, checked(DecisionIn, said), **place).remaining_approvals
    except CommandError as error:
        if error.code != USAGE:
            raise
        raise InvalidEditError(str(error)) from error


def closed(backend: Backend, call: WaitingCall) -> str | None:
    """Return why a call waits no longer, as a sentence; None while it waits."""
    asked = call.model_dump(include={"run_id", "call_id", "digest", "question"})
    state = backend.call(GET_QUESTION, **asked)
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
