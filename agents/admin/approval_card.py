"""A call that waits for a person, as it is shown: all of it, with nothing hidden in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.admin import formatting
from agents.admin.hidden_text import parts
from agents.approvals.questions import answer_schema
from agents.approvals.uncertain_calls import executed_arguments
from agents.choices import CallResolution, CallStatus
from agents.querysets import shown_tool
from agents.reads.pinned_tools import in_tool_order
from heartbit_site.base import amounts
from heartbit_site.base.admin.themed import pretty_json
from heartbit_site.base.effect_text import UNCERTAIN_CALL, describe_effect
from heartbit_site.base.visible_text import visible
from tools.answer_form import without_form

if TYPE_CHECKING:
    from datetime import datetime

    from agents.admin.hidden_text import Part
    from agents.models import Decision, ToolCall

_SETTLED: dict[str, str] = {
    CallResolution.RETRIED: "Sent again",
    CallResolution.CONFIRMED: "Confirmed",
    CallResolution.SKIPPED: "Left as it is",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; ``value`` in pieces, as a text says it or as JSON."""

    name: list[Part]
    value: list[Part]


@dataclass(frozen=True, slots=True)
class Card:
    """A waiting call.

    Attributes:
        in_doubt: Whether it has run, and nobody knows what became of it.
        is_question: Whether a person answers it.
        tool: The name of the tool that would run.
        asked_as: What the model called it, when that is another name.
        hidden: How many characters of the arguments are shown as escapes.
    """

    row: ToolCall
    in_doubt: bool
    is_question: bool
    tool: str
    asked_as: str
    agent: str
    effect: str
    reason: str
    arguments: list[Argument]
    hidden: int


def card(call: ToolCall) -> Card:
    """Prepare a waiting call."""
    in_doubt = is_in_doubt(call)
    reason = UNCERTAIN_CALL if in_doubt else str((call.approval_view or {}).get("reason", ""))
    tool = shown_tool(call)
    values = in_tool_order(call, asked_about(call))
    is_question = not in_doubt and answer_schema(call) is not None
    if is_question:
        values = without_form(values)
    arguments = [_argument(name, value) for name, value in values.items()]
    return Card(
        row=call,
        in_doubt=in_doubt,
        is_question=is_question,
        tool=visible(tool),
        asked_as="" if call.tool == tool else visible(call.tool),
        agent=call.run.agent,
        effect=describe_effect(call.effect),
        reason=visible(reason),
        arguments=arguments,
        hidden=sum(part.escaped for a in arguments for part in (*a.name, *a.value)),
    )


def is_in_doubt(call: ToolCall) -> bool:
    """Whether a call of ``queries.waiting_calls`` waits for a word on its outcome."""
    return call.status == CallStatus.UNCERTAIN


def asked_about(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call of ``queries.waiting_calls``."""
    if is_in_doubt(call):
        return executed_arguments(call, getattr(call, "edited", None))
    return (call.approval_view or {}).get("arguments") or {}


def since(call: ToolCall) -> str:
    """How long a call of ``queries.waiting_calls`` has waited."""
    asked_at: datetime | None = getattr(call, "asked_at", None)
    return amounts.duration(timezone.now() - asked_at) if asked_at else "a moment"


def decided(decision: Decision) -> str:
    """Who decided what, where and when, and by which right."""
    what = _SETTLED.get(decision.verdict, decision.get_verdict_display())
    where = "" if decision.via == "grant" else f" ({decision.via})"
    sentence = f"{what} by {visible(decision.decided_by)}{where}, {formatting.clock(decision.at)}"
    if decision.grant_id is None:
        return sentence
    if decision.via == "grant":
        return f"{sentence}, by grant {decision.grant_id}"
    return f"{sentence}, and grant {decision.grant_id} given"


def _argument(name: str, value: object) -> Argument:
    text = value if isinstance(value, str) else pretty_json(value)
    return Argument(parts(name), parts(text))
