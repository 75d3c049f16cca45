"""Rows as the JSON of responses."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Left, Length

from heartbit_site.base.models import UsageEntry
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from django.db.models import QuerySet

    from agents.metrics import AgentMetrics, AgentOverview
    from agents.models import AgentVersion, Conversation, Run
    from heartbit_site.base.toolspec import ToolSpec

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


def conversation(row: Conversation) -> dict[str, Any]:
    """A thread."""
    return {
        "conversation": str(row.pk),
        "agent": row.agent,
        "title": row.title,
        "second_message": str(row.second_message),
        "created_at": time(row.created_at),
    }


def agent(overview: AgentOverview, version: AgentVersion) -> dict[str, Any]:
    """A published agent with what it does and what it has done."""
    row, metrics = overview.agent, overview.metrics
    return {
        "name": row.name,
        "description": row.description,
        "model": version.snapshot.get("model", ""),
        "tools": [tool["name"] for tool in version.snapshot.get("tools", [])],
        "team": [member["name"] for member in version.snapshot.get("team", [])],
        "queue": row.queue,
        "version": version.number,
        "state": overview.state,
        "current_run": str(overview.current_run) if overview.current_run else None,
        "metrics": agent_metrics(metrics),
    }


def agent_metrics(metrics: AgentMetrics) -> dict[str, Any]:
    """What an agent has done so far."""
    return {
        "runs": metrics.runs,
        "succeeded": metrics.succeeded,
        "failed": metrics.failed,
        "success_rate": metrics.success_rate,
        "average_seconds": metrics.average_seconds,
        "input_tokens": metrics.input_tokens,
        "output_tokens": metrics.output_tokens,
        "cost_usd": money(metrics.cost_usd),
        "uptime_seconds": metrics.uptime_seconds,
        "last_activity": time(metrics.last_activity),
    }


def tool(spec: ToolSpec) -> dict[str, Any]:
    """A tool."""
    return {
        "name": spec.name,
        "description": spec.description,
        "effect": spec.effect.value,
        "parameters": dict(spec.parameters),
    }


def time(value: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return value.astimezone(UTC).isoformat() if value else None
