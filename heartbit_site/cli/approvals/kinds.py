"""Calls that wait for a person, and what is asked about them. No Django by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agents.journal import waits
from agents.journal.waits import WaitKind
from heartbit_site.base import visible_text
from heartbit_site.base.effect_text import EFFECT_TEXT, UNCERTAIN_CALL
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.terminal.margin import margined, visible, wrap
from heartbit_site.contract import approvals
from heartbit_site.contract.approvals import ApprovalOut
from tools.calls.questions import are_numbered, explained, without_form

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
    about="the outcome of",
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


ASKED: Final = "question"  # the argument that a question's text is in


def question(call: WaitingCall, width: int) -> list[str]:
    """Return the lines above the prompt: asker, request, reason and all arguments.

    Of a question: its text, the other arguments if there are any, and what the answer has to be.
    """
    effect = (
        f"{call.effect}: {EFFECT_TEXT[call.effect]}" if call.effect in EFFECT_TEXT else call.effect
    )
    facts = (
        ("agent", visible(call.agent)),
        ("tool", visible(call.tool)),
        *([("summary", call.summary)] if call.summary and form_of(call) is None else []),
        ("effect", effect),
        ("why", visible(call.reason if isinstance(call, ApprovalOut) else UNCERTAIN_CALL)),
        ("call", f"{call.call_id} of run {call.run_id}"),
    )
    lines = ["", kind_of(call).title]
    for title, text in facts:
        first, *rest = wrap(text, width - 14) or [""]
        lines.append(f"  {title:<10}  {first}".rstrip())
        lines += [f"{'':14}{line}" for line in rest]
    for title, text in _texts(call):
        lines += [f"  {title}", *margined(text, width)]
    return lines


def _texts(call: WaitingCall) -> list[tuple[str, str]]:
    """Return the texts beside the margin, each below its title."""
    form = form_of(call)
    if form is None:
        return [("arguments", readable_json(call.arguments))]
    rest = without_form(call.arguments)
    found: list[tuple[str, str]] = []
    if isinstance(asked := rest.get(ASKED), str):
        found.append(("question", _plain(asked)))
        del rest[ASKED]
    if rest:
        found.append(("arguments", readable_json(rest)))
    wanted = explained(form, numbered=are_numbered(form))
    return [*found, ("answer", _plain(wanted))] if wanted else found


def _plain(text: str) -> str:
    """Return a text of several lines with everything hidden in it shown, at its real width."""
    return visible_text.visible(text.expandtabs(4))
