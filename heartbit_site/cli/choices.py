"""What a person may say about a call that waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.escape import visible
from heartbit_site.cli.kinds import QUESTION
from heartbit_site.cli.until import moment
from tools.questions import read_answer

if TYPE_CHECKING:
    from heartbit_site.cli.question import WaitingCall

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
        """What to add to a sentence about it."""
        if self.always is None:
            return ""
        until = f" until {self.until.astimezone():%Y-%m-%d %H:%M}" if self.until else ""
        return f", and always {'in this run' if self.always == 'run' else 'for this agent'}{until}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Let it run with other arguments, a JSON object."""

    arguments: str


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
    """What became of a call of unknown outcome, or what is to become of it.

    Attributes:
        outcome: `retried`: it is made again; `confirmed`: it took effect; `skipped`: it is left.
        result: With `confirm`: what the model reads as its answer.
    """

    outcome: Outcome
    result: str = ""


Choice = Approve | Edit | Answer | Deny | Settle


class Skip:
    """Somebody else may decide."""


def value_of(call: WaitingCall, answer: Answer) -> Any:
    """The JSON value that an answer means.

    Raises:
        InvalidEditError: It is to be JSON, and is none.
    """
    try:
        return read_answer(call.arguments, answer.text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error


def unfit(call: WaitingCall, choice: Choice) -> str | None:
    """Why a call cannot be decided so, as a sentence; None: it can."""
    if call.kind is QUESTION and isinstance(choice, Approve | Edit):
        return f"Call {call.call_id} is a question: say --answer TEXT, or --deny REASON."
    if call.kind is not QUESTION and isinstance(choice, Answer):
        return f"Call {call.call_id} asks nothing: say {call.kind.options}."
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
            return f"{'Declined' if call.kind is QUESTION else 'Denied'} {subject}."
        case Settle("retry"):
            return f"To be made again: {subject}."
        case Settle("confirm"):
            return f"It took effect: {subject}."
        case Settle():
            return f"Left as it is: {subject}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveOptions:
    """What `heartbit approve` was told about a run's calls; nothing: ask.

    Attributes:
        edit: The arguments to use instead, as JSON; None: not edited.
        answer: To a question, as text or as JSON; None: not answered.
        deny: Why not; None: not denied.
        digest: Decide only the call that was shown with this digest.
    """

    yes: bool = False
    edit: str | None = None
    answer: str | None = None
    deny: str | None = None
    always: Scope | None = None
    until: str | None = None
    digest: str = ""

    def choice(self) -> Choice | None:
        """What it says about a call; None: the person is asked.

        Raises:
            CommandError: Its parts contradict each other.
            UntilError: `until` is no moment to come.
        """
        texts = (self.edit, self.answer, self.deny)
        if self.yes + sum(text is not None for text in texts) > 1:
            raise CommandError("Say one of --yes, --edit, --answer and --deny.", USAGE)
        if self.always is None and self.until is not None:
            raise CommandError("--until goes with --always run or --always agent.", USAGE)
        if self.always is not None and not self.yes:
            raise CommandError("--always goes with --yes.", USAGE)
        if self.edit is not None:
            return Edit(self.edit)
        if self.answer is not None:
            return Answer(self.answer)
        if self.deny is not None:
            return Deny(self.deny)
        now = datetime.now().astimezone()
        until = moment(self.until, now) if self.until is not None else None
        return Approve(self.always, until) if self.yes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveOptions:
    """What `heartbit resolve` was told about a call; nothing: ask.

    Attributes:
        result: With `confirm`: what the model reads; None: nothing was said.
    """

    digest: ClassVar[str] = ""
    retry: bool = False
    confirm: bool = False
    skip: bool = False
    result: str | None = None

    def choice(self) -> Settle | None:
        """What it says; None: the person is asked.

        Raises:
            CommandError: Its parts contradict each other.
        """
        said: dict[Outcome, bool] = {
            "retry": self.retry,
            "confirm": self.confirm,
            "skip": self.skip,
        }
        chosen = [outcome for outcome, is_said in said.items() if is_said]
        if len(chosen) > 1:
            raise CommandError("Say one of --retry, --confirm and --skip.", USAGE)
        if self.result is not None and chosen != ["confirm"]:
            raise CommandError("--result goes with --confirm.", USAGE)
        return Settle(chosen[0], self.result or "") if chosen else None
