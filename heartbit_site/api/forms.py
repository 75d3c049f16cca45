"""Rows as the JSON of responses."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Left, Length

from agents.argument_order import in_tool_order
from agents.querysets import shown_tool
from agents.questions import asked_form
from heartbit_site.api.asked_view import view
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from django.db.models import QuerySet

    from agents.doubts import Doubt
    from agents.models import Conversation, Run, ToolCall, Wait
    from heartbit_site.api.asked_view import Offers

_DOUBT = "The worker died while the call ran: it may have taken effect, or not."

#: What the model calls of each run cost; None where a price is unknown.
Costs = dict["UUID", Decimal | None]


def costs_of(runs: Iterable[Run]) -> Costs:
    """What these runs cost, each for itself; 0 without a model call."""
    ids = [run.pk for run in runs]
    entries = UsageEntry.objects.filter(run_id__in=ids).values("run_id").order_by()
    sums = entries.annotate(
        cost=Sum("cost_usd"), unknown=Count("pk", filter=Q(cost_usd__isnull=True))
    )
    known = {row["run_id"]: None if row["unknown"] else row["cost"] for row in sums}
    return {run_id: known.get(run_id, Decimal(0)) for run_id in ids}


def money(value: Decimal | None) -> str | None:
    """US dollars as a decimal number without needless zeros."""
    if value is None:
        return None
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_beginning(rows: QuerySet[Any], column: str) -> QuerySet[Any]:
    """Read the beginning and the length of a long text, for ``beginning``, instead of all of it."""
    found: QuerySet[Any] = rows.annotate(
        **{
            f"{column}_beginning": Left(column, PREVIEW_CHARACTERS + 1),
            f"{column}_characters": Length(column),
        }
    ).defer(column)
    return found


def beginning(row: Any, column: str, name: str) -> dict[str, Any]:
    """Serialize a text of a row that comes from ``with_beginning``, under its name in the API."""
    return {
        name: preview(getattr(row, f"{column}_beginning")),
        f"{name}_characters": getattr(row, f"{column}_characters"),
    }


def summaries(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Leave what a list does not show in the database, as ``run_summary`` reads the rest."""
    return with_beginning(runs, "task").defer("payload", "output", "structured")


def run_summary(run: Any, costs: Mapping[UUID, Decimal | None]) -> dict[str, Any]:
    """Serialize a run of a list; it comes from ``summaries``."""
    return {**_run_facts(run, costs), **beginning(run, "task", "task")}


def run_row(run: Run, costs: Mapping[UUID, Decimal | None]) -> dict[str, Any]:
    """One run, with its input and its answer."""
    return {
        **_run_facts(run, costs),
        "task": run.task,
        "task_characters": len(run.task),
        "payload": run.payload,
        "output": run.output,
        "structured": run.structured,
    }


def _run_facts(run: Run, costs: Mapping[UUID, Decimal | None]) -> dict[str, Any]:
    return {
        "run": str(run.pk),
        "root": str(run.root_id),
        "parent": str(run.parent_id) if run.parent_id else None,
        "conversation": str(run.conversation_id) if run.conversation_id else None,
        "forked_from": str(run.forked_from_id) if run.forked_from_id else None,
        "agent": run.agent,
        "home": run.home,
        "model": run.model,
        "status": run.status,
        "error": run.error,
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "cost_usd": money(costs[run.pk]),
        "started_by": run.started_by,
        "approve": run.approve,
        "priority": run.priority,
        "queue": run.queue,
        "last_seq": run.last_seq,
        "created_at": time(run.created_at),
        "started_at": time(run.started_at),
        "finished_at": time(run.finished_at),
    }


def run_tree(run: Run, runs: list[Run], costs: Mapping[UUID, Decimal | None]) -> dict[str, Any]:
    """A run with its sub-agents, from the rows of its tree."""
    children = [run_tree(child, runs, costs) for child in runs if child.parent_id == run.pk]
    return {**run_row(run, costs), "children": children}


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


def conversation(row: Conversation) -> dict[str, Any]:
    """A thread."""
    return {
        "conversation": str(row.pk),
        "agent": row.agent,
        "title": row.title,
        "second_message": str(row.second_message),
        "created_at": time(row.created_at),
    }


def time(value: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return value.astimezone(UTC).isoformat() if value else None
