"""Kinds of wait that can suspend a run, one declaration each. Pure.

Suspending, expiring, the inbox, the command line and the run page read the declaration; only
a kind's own engine refers to it by name. To add one, see ``docs/contributing/add-a-wait.md``.

    SIGNAL = register(WaitKind("signal", "Signal", "a signal", ANSWER, answer={"type": "string"}))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from agents.journal.phrase import Phrase
from heartbit_site.base import suspensions
from heartbit_site.base.tone import Tone
from heartbit_site.base.visible_text import readable_json, visible

if TYPE_CHECKING:
    Value = Mapping[str, Any]

#: Row of a run's timeline that shows the time spent waiting.
Lane = Literal["person", "agents", "pause"]
#: Operation that accepts the answer to a wait whose kind declares an answer schema.
ANSWER: Final = "waits.answer_wait"
#: Type of the event that suspends a tool call (``agents.journal.events.CallWaiting``).
BY_TOOL: Final = "call.waiting"
MOST_CHARACTERS: Final = 16  # length of the database column
_DECISIONS: Final = {
    "edited": "approved with other arguments",
    "retried": "sent again",
    "skipped": "left as it is",
}
#: Words and icon of each decision of a review.
_REVIEWS: Final[dict[str, tuple[str, str, Tone]]] = {
    "approve": ("result approved", "check", "success"),
    "changes": ("changes of the result requested", "edit_note", "warning"),
    "edit": ("result approved with an edit", "check", "success"),
    "reject": ("result rejected", "block", "warning"),
}
_NOT_REVIEWED: Final[tuple[str, str, Tone]] = (
    "no one reviewed the result in time",
    "block",
    "warning",
)
_AGREEING: Final = ("approved", "edited", "answered", "confirmed")


def decision(value: Value) -> str:
    """Return a person's decision with its author, such as ``approved by alice``."""
    status, by = str(value.get("status", "ended")), str(value.get("by") or "")
    said = _DECISIONS.get(status, status)
    return f"{said} by {visible(by)}" if by else said


def _decided(value: Value, call: str) -> Phrase:
    """Describe the end of a wait that a person resolves."""
    status = str(value.get("status", "ended"))
    text = str(value.get("arguments") or value.get("reason") or value.get("result") or "")
    if not text and value.get("answer") is not None:
        text = readable_json(value["answer"])
    icon = "check" if status in _AGREEING else "replay" if status == "retried" else "block"
    tone: Tone = "success" if status in _AGREEING else "warning"
    title = f"{decision(value)}: {call}" if call else decision(value)
    return Phrase(title, visible(text), icon, tone)


def _reviewed(value: Value, call: str) -> Phrase:
    """Describe a review of a run's result."""
    answer = value.get("answer") or {}
    said, icon, tone = _REVIEWS.get(answer.get("decision", ""), _NOT_REVIEWED)
    by = f" by {visible(str(value['by']))}" if answer else ""
    return Phrase(f"{said}{by}", visible(str(answer.get("message") or "")), icon, tone)


def _continued(value: Value, call: str) -> Phrase:
    """Describe the answer to a question about a budget."""
    goes_on = (value.get("answer") or {}).get("decision") == "continue"
    by = visible(str(value.get("by", "")))
    if goes_on:
        return Phrase(f"{by} let runs go on", "", "check", "success")
    return Phrase(f"{by} stopped the run", "", "block", "warning")


def _joined(value: Value, call: str) -> Phrase:
    """Describe the end of a sub-agent's run."""
    status, error = str(value.get("status", "ended")), value.get("error")
    text = error.get("message") if isinstance(error, dict) else value.get("output")
    tone: Tone = "success" if status == "succeeded" else "warning"
    return Phrase(f"{status}: {value.get('subject', 'it')}", str(text or ""), "call_merge", tone)


def _returned(value: Value, call: str) -> Phrase:
    return Phrase(f"{call}: returned by the client", str(value.get("result", "")), "input", "info")


def _rang(value: Value, call: str) -> Phrase:
    return Phrase("the pause is over", "", "timer", "info")


def _looked(value: Value, call: str) -> Phrase:
    return Phrase(f"{call}: looks what the remote agent has done", "", "sync", "info")


@dataclass(frozen=True, slots=True)
class WaitKind:
    """A kind of wait.

    Attributes:
        name: Value of ``agents_wait.kind``; never renamed, because journals hold it.
        label: Noun phrase for headings and lists.
        waits_for: Noun phrase that completes "The run waits for".
        answered_by: Operation by which a person ends the wait; empty if none does.
        command: Command that calls the operation, without ``heartbit``.
        answer: JSON Schema of the answer, if the operation is ``ANSWER``.
        is_declinable: True if a person may also decline, with null.
        describe: Describes the end of the wait from its value and the name of its call.
        lane: Row of the run's timeline, if no person answers.
        opened_by: Type of the event that opens the wait.
    """

    name: str
    label: str
    waits_for: str
    answered_by: str = ""
    command: str = "answer"
    answer: Mapping[str, Any] | None = None
    is_declinable: bool = False
    describe: Callable[[Value, str], Phrase] = _decided
    lane: Lane = "person"
    opened_by: str = BY_TOOL

    @property
    def asks_person(self) -> bool:
        """True if a person ends the wait."""
        return self.answered_by != ""

    def row(
        self,
        key: str,
        call_id: str = "",
        *,
        timeout_seconds: float | None = None,
        escalate_seconds: float | None = None,
    ) -> dict[str, Any]:
        """Return a wait of this kind in the form that ``heartbit_suspend`` takes.

        Args:
            key: Name of the wait, unique in its run and opaque to all readers.
            call_id: Tool call that waits; empty if none does.
            timeout_seconds: Seconds until the wait is resolved as ``expired``; None: never.
            escalate_seconds: Seconds until more people are asked; None: never.
        """
        return {
            "kind": self.name,
            "asks_person": self.asks_person,
            "key": key,
            "call_id": call_id,
            "timeout_seconds": timeout_seconds,
            "escalate_seconds": escalate_seconds,
        }


_kinds: dict[str, WaitKind] = {}


def register(kind: WaitKind) -> WaitKind:
    """Add a kind of wait.

    Raises:
        ValueError: Another kind has the name, or the declaration contradicts itself.
    """
    if kind.name in _kinds and _kinds[kind.name] != kind:
        raise ValueError(f"Two kinds of wait are named {kind.name!r}: rename one of them.")
    if not 0 < len(kind.name) <= MOST_CHARACTERS:
        raise ValueError(
            f"The kind of wait {kind.name!r} needs a name of 1 to {MOST_CHARACTERS} characters."
        )
    if (kind.answered_by == ANSWER) != (kind.answer is not None):
        raise ValueError(
            f"The kind of wait {kind.name!r} needs a schema of its answer exactly if it is "
            f"answered by {ANSWER!r}."
        )
    if (kind.lane == "person") != kind.asks_person:
        raise ValueError(
            f"The kind of wait {kind.name!r} belongs into the lane 'person' exactly if a person "
            "answers it."
        )
    _kinds[kind.name] = kind
    return kind


def answered_by(operation: str) -> list[str]:
    """Return the names of the kinds that a person ends by this operation."""
    return [kind.name for kind in _kinds.values() if kind.answered_by == operation]


def is_for_tools(name: str) -> bool:
    """Return True if a tool may wait for this kind, which then needs no event of its own."""
    return name in _kinds and _kinds[name].opened_by == BY_TOOL


def kind_of(name: str) -> WaitKind:
    """Return the kind with this name; an unknown kind is labelled with its name."""
    return _kinds.get(name) or WaitKind(name, name, waits_for="something", lane="pause")


CHILD: Final = register(
    WaitKind("child", "Sub-agent", "a sub-agent", describe=_joined, lane="agents")
)
TIMER: Final = register(
    WaitKind(
        *("timer", "Pause", "the model's provider"),
        describe=_rang,
        lane="pause",
        opened_by="model.delayed",
    )
)
PAUSE: Final = register(
    WaitKind(
        *("pause", "Pause", "a time"),
        describe=_rang,
        lane="pause",
        opened_by="run.paused",
    )
)
#: A tool's own pause (``Suspension.kind``); its call continues when the pause is over.
DELAY: Final = register(WaitKind("delay", "Pause", "a time", describe=_rang, lane="pause"))
#: A task of a remote agent, which the call looks for again when the pause is over.
REMOTE: Final = register(
    WaitKind(suspensions.REMOTE, "Remote agent", "a remote agent", describe=_looked, lane="agents")
)
#: A call that the client of the run answers, whose tool it is (``agents.loop.client_tools``).
EXTERNAL: Final = register(
    WaitKind("external", "Client", "its client", describe=_returned, lane="agents")
)
APPROVAL: Final = register(
    WaitKind(
        *("approval", "Approval", "a decision", "approvals.decide", "approve"),
        opened_by="approval.requested",
    )
)
OUTCOME: Final = register(
    WaitKind(
        *("outcome", "Unknown outcome", "a call's outcome", "approvals.resolve_call", "resolve"),
        opened_by="outcome.requested",
    )
)


#: The call declares the schema of its answer (``agents.journal.events.CallWaiting.form``).
QUESTION: Final = register(
    WaitKind(
        *(suspensions.QUESTION, "Question", "an answer", ANSWER),
        answer={},
        is_declinable=True,
    )
)


#: The result of a run, which people review before it is delivered.
REVIEW: Final = register(
    WaitKind(
        *("review", "Review", "a review of its result", ANSWER),
        answer={},
        describe=_reviewed,
        opened_by="review.requested",
    )
)


#: A budget at the threshold from which on an owner is asked (``Budget.ask_at``).
BUDGET: Final = register(
    WaitKind(
        *("budget", "Budget", "an owner to go on", ANSWER),
        answer={
            "type": "object",
            "properties": {"decision": {"enum": ["continue", "stop"]}},
            "required": ["decision"],
            "additionalProperties": False,
        },
        describe=_continued,
        opened_by="budget.asked",
    )
)


def question_key(call_id: str, number: int) -> str:
    """Return the key of the wait for a reply to a call's question of that number."""
    return f"{QUESTION.name}:{call_id}:{number}"


def approval_key(call_id: str, question: int) -> str:
    """Return the key of an approval's wait; the first request keeps the original format."""
    return f"approval:{call_id}" if question == 1 else f"approval:{call_id}:{question}"
