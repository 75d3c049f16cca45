"""Calls that wait for a person, and what is asked about them. No Django by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agents.journal import waits
from agents.journal.waits import WaitKind
from heartbit_site.contract import approvals

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend

WaitingCall = approvals.ApprovalOut | approvals.UncertainCallOut


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
        keys: The prompt below it, with letters in brackets; the last one leaves the call to others.
        synonyms: Further words for these letters.
    """

    wait: WaitKind
    options: str
    verdicts: frozenset[str]
    nothing: str
    about: str
    title: str
    keys: str
    synonyms: Mapping[str, str] = field(default_factory=dict)


APPROVAL: Final = Kind(
    wait=waits.APPROVAL,
    options="--yes, --edit JSON or --deny REASON",
    verdicts=frozenset({"approved", "edited", "answered", "denied"}),
    nothing="Nothing waits for a decision.",
    about="a decision about",
    title="A tool call waits for your approval.",
    keys="[a]pprove  [e]dit  [d]eny  [r] always in this run  [A] always for this agent  [s]kip > ",
    synonyms={"y": "a", "yes": "a", "n": "d", "no": "d"},
)
QUESTION: Final = replace(
    APPROVAL,
    options="--answer TEXT or --deny REASON",
    about="an answer to",
    title="An agent asks you.",
    keys="[a]nswer  [d]ecline  [s]kip > ",
    synonyms={"deny": "d"},
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


def kind_of(call: WaitingCall) -> Kind:
    """Return what is asked about a call."""
    if isinstance(call, approvals.UncertainCallOut):
        return OUTCOME
    return APPROVAL if form_of(call) is None else QUESTION


def waiting_calls(backend: Backend, kind: Kind, run: str | None = None) -> Sequence[WaitingCall]:
    """Return what waits, the oldest first.

    Args:
        backend: Where.
        kind: ``OUTCOME``: the calls of unknown outcome; else the others.
        run: Only of this run and its sub-agents: its id, or how it begins.
    """
    if kind is OUTCOME:
        return backend.every(approvals.LIST_UNCERTAIN_CALLS, run=run).calls
    return backend.every(approvals.LIST_APPROVALS, run=run).calls


def form_of(call: WaitingCall) -> dict[str, Any] | None:
    """Return the JSON Schema of the answer if a call is a question."""
    return call.answer_schema if isinstance(call, approvals.ApprovalOut) else None
