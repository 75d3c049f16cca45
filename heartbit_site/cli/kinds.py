"""What a person is asked about a call: to allow it, to answer it, what became of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A question.

    Attributes:
        command: The command that answers it.
        options: What answers it where there is no terminal.
        prefix: How the keys of its waits begin.
        nothing: What is said when no call waits.
        subject: What a call waits for.
        about: What its agent waits for; the tool's name follows.
        title: The line above the call.
        keys: The prompt below it.
    """

    command: str
    options: str
    prefix: str
    nothing: str
    subject: str
    about: str
    title: str
    keys: str


APPROVAL: Final = Kind(
    command="approve",
    options="--yes, --edit JSON or --deny REASON",
    prefix="approval:",
    nothing="Nothing waits for a decision.",
    subject="a decision",
    about="a decision about",
    title="A tool call waits for your approval.",
    keys="[a]pprove  [e]dit  [d]eny  [r] always in this run  [A] always for this agent  [s]kip > ",
)
QUESTION: Final = Kind(
    command="approve",
    options="--answer TEXT or --deny REASON",
    prefix="approval:",
    nothing="Nothing waits for a decision.",
    subject="a decision",
    about="an answer to",
    title="An agent asks you.",
    keys="[a]nswer  [d]ecline  [s]kip > ",
)
OUTCOME: Final = Kind(
    command="resolve",
    options="--retry, --confirm or --skip",
    prefix="outcome:",
    nothing="No call is in doubt.",
    subject="a word on its outcome",
    about="a word on",
    title="Nobody knows what became of a tool call.",
    keys="[r]etry, it may happen twice  [c]onfirm that it took effect  [s]kip it  [l]ater > ",
)
