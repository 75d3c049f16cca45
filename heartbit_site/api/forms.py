"""Rows as the JSON of responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.argument_order import in_tool_order
from agents.querysets import shown_tool
from agents.questions import asked_form
from heartbit_site.api.asked_view import view
from heartbit_site.base.preview import preview
from heartbit_site.contract.model import dollars

if TYPE_CHECKING:
    from decimal import Decimal

    from agents.doubts import Doubt
    from agents.models import ToolCall, Wait
    from heartbit_site.api.asked_view import Offers

_DOUBT = "The worker died while the call ran: it may have taken effect, or not."


def money(value: Decimal | None) -> str | None:
    """US dollars as a decimal number without needless zeros."""
    found: str | None = dollars(value)
    return found


def beginning(row: Any, column: str, name: str) -> dict[str, Any]:
    """Serialize a text of a row that comes from ``with_beginning``, under its name in the API."""
    return {
        name: preview(getattr(row, f"{column}_beginning")),
        f"{name}_characters": getattr(row, f"{column}_characters"),
    }


def approval(call: ToolCall, wait: Wait | None, offers: Offers, votes: list[str]) -> dict[str, Any]:
    """A call that waits for a person, as it is shown; ``votes``: who has approved it so far."""
    shown = call.shown or {}
    arguments = in_tool_order(shown_tool(call), shown.get("arguments", {}))
    reason = shown.get("reason", "")
    return {
        **_asked(call, wait.created_at if wait is not None else None),
        "reason": reason,
        "arguments": arguments,
        "digest": call.digest,
        "expires_at": time(wait.expires_at) if wait is not None else None,
        "needed": shown.get("needed", 1),
        "approved_by": votes,
        "group": shown.get("group", ""),
        "escalated": _escalated(wait, shown.get("escalated_to", "")),
        "parameters": offers.parameters(call.run, shown_tool(call)),
        "form": asked_form(call),
        "view": view(call, arguments, reason),
    }


def _escalated(wait: Wait | None, group: str) -> dict[str, Any] | None:
    if wait is None or wait.escalated_at is None:
        return None
    return {"group": group, "since": time(wait.escalated_at)}


def doubt(found: Doubt) -> dict[str, Any]:
    """A call of unknown outcome."""
    return {
        **_asked(found.call, found.since),
        "arguments": in_tool_order(shown_tool(found.call), found.arguments),
        "question": found.question,
        "view": view(found.call, found.arguments, _DOUBT),
    }


def _asked(call: ToolCall, since: datetime | None) -> dict[str, Any]:
    """What both say of a call that a person is asked about."""
    return {
        "run": str(call.run_id),
        "root": str(call.run.root_id),
        "call": call.call_id,
        "agent": call.run.agent,
        "tool": shown_tool(call),
        "effect": call.effect,
        "since": time(since),
        "task": preview(call.run.task),
        "task_characters": len(call.run.task),
        "home": call.run.home,
        "queue": call.run.queue,
    }


def time(value: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return value.astimezone(UTC).isoformat() if value else None
