"""What a person is asked about a call: to allow it, to answer it, what became of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agents.journal import waits

if TYPE_CHECKING:
    from agents.journal.waits import WaitKind


@dataclass(frozen=True, slots=True)
class Kind:
    """A question.

    Attributes:
        wait: The kind of wait that it ends.
        options: What answers it where there is no terminal.
        verdicts: What decisions about it may say.
        nothing: What is said when no call waits.
        about: What its agent waits for; the tool's name follows.
        title: The line above the call.
        keys: The prompt below it.
    """

    wait: WaitKind
    options: str
    verdicts: frozenset[str]
    nothing: str
    about: str
    title: str
    keys: str

    @property
    def command(self) -> str:
        """The command that answers it."""
        return self.wait.command

    @property
    def subject(self) -> str:
        """What a call waits for."""
        return self.wait.waits_for


APPROVAL: Final = Kind(
    wait=waits.APPROVAL,
    options="--yes, --edit JSON or --deny REASON",
    verdicts=frozenset({"approved", "edited", "answered", "denied"}),
    nothing="Nothing waits for a decision.",
    about="a decision about",
    title="A tool call waits for your approval.",
    keys="[a]pprove  [e]dit  [d]eny  [r] always in this run  [A] always for this agent  [s]kip > ",
)
QUESTION: Final = Kind(
    wait=waits.APPROVAL,
    options="--answer TEXT or --deny REASON",
    verdicts=frozenset({"approved", "edited", "answered", "denied"}),
    nothing="Nothing waits for a decision.",
    about="an answer to",
    title="An agent asks you.",
    keys="[a]nswer  [d]ecline  [s]kip > ",
)
OUTCOME: Final = Kind(
    wait=waits.OUTCOME,
    options="--retry, --confirm or --skip",
    verdicts=frozenset({"retried", "confirmed", "skipped"}),
    nothing="No call is in doubt.",
    about="a word on",
    title="Nobody knows what became of a tool call.",
    keys="[r]etry, it may happen twice  [c]onfirm that it took effect  [s]kip it  [l]ater > ",
)
