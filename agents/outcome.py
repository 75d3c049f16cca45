"""A run's result in its long form (``agents.results``), read from its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q, Sum

from agents.models import Run, ToolCall
from agents.results import Metrics, TaskResult, build
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from datetime import datetime


def result_of(run: Run) -> TaskResult:
    """The result of a run that has ended.

    Its metrics are those of its whole tree when it is a root, else its own.

    Raises:
        ValueError: The run has not ended.
    """
    message = run.error.get("message") if isinstance(run.error, dict) else None
    return build(
        run.status,
        text=run.output or "",
        data=run.structured,
        error=message,
        metrics=metrics_of(run),
    )


def metrics_of(run: Run) -> Metrics:
    """What a run has taken so far; the cost is None as soon as that of one call is unknown."""
    mine = Q(root_id=run.pk) if run.parent_id is None else Q(pk=run.pk)
    ids = list(Run.objects.filter(mine).values_list("pk", flat=True))
    used = UsageEntry.objects.filter(run_id__in=ids).aggregate(
        calls=Count("pk"),
        unknown=Count("pk", filter=Q(cost_usd__isnull=True)),
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        cost=Sum("cost_usd"),
    )
    known = used["calls"] and not used["unknown"]
    return Metrics(
        duration_ms=_milliseconds(run.started_at, run.finished_at),
        queued_ms=_milliseconds(run.created_at, run.started_at),
        model_calls=used["calls"],
        tool_calls=ToolCall.objects.filter(run_id__in=ids).count(),
        input_tokens=used["read"],
        output_tokens=used["written"],
        cost_usd=str(used["cost"]) if known else None,
    )


def _milliseconds(begin: datetime | None, end: datetime | None) -> int:
    return round((end - begin).total_seconds() * 1000) if begin and end else 0
