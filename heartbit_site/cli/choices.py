"""Choices of a person about a call that waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError
from heartbit_site.cli.escape import visible
from heartbit_site.cli.kinds import QUESTION, kind_of
from tools.questions import read_answer

if TYPE_CHECKING:
    from datetime import datetime

    from heartbit_site.cli.kinds import WaitingCall

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
