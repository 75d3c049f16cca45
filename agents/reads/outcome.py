"""Result and metrics of a run, read from its rows. The metrics of a root cover its whole tree.

Usage::

    result = result_of(run)      # the form of agents.output.results
    metrics = metrics_of(run)    # until now if the run has not ended
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from agents.journal.events import RunSucceeded
from agents.models import Run, RunEvent, ToolCall
from agents.output.results import MetricsOut, ResultOut, build
from agents.reads.artifacts import kept_names
from agents.reads.metrics import SUMS, cost_of
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from datetime import timedelta


def result_of(run: Run) -> ResultOut:
    """Return the result of a run that has ended.

    The metrics of a root cover its whole tree.

    Raises:
        ValueError: The run has not ended.
    """
    error = run.error if isinstance(run.error, dict) else {}
    ending = RunEvent.objects.filter(run=run, type=RunSucceeded.type).first()
    return build(
        run.status,
        text=run.output or "",
        data=run.structured,
        error=error.get("message"),
        metrics=metrics_of(run),
        kept=kept_names([run.pk]).get(run.pk, ()),
        finish_reason=ending.payload.get("finish_reason") if ending is not None else None,
    )


def metrics_of(run: Run) -> MetricsOut:
    """Return the metrics of a run until now; those of a root include its sub-agents.

    The cost is None if the price of any model call is unknown.
    """
    tree = Q(root_id=run.root_id) if run.parent_id is None else Q(pk=run.pk)
    runs = Run.objects.filter(tree).order_by().values("pk")
    spent = UsageEntry.objects.filter(run_id__in=runs).aggregate(**SUMS)
    end = run.finished_at or timezone.now()
    cost = cost_of(spent)
    return MetricsOut(
        duration_ms=_milliseconds(end - run.created_at),
        queued_ms=_milliseconds((run.started_at or end) - run.created_at),
        model_calls=spent["calls"],
        tool_calls=ToolCall.objects.filter(run__in=runs).count(),
        input_tokens=spent["input_tokens"],
        output_tokens=spent["output_tokens"],
        cost_usd=None if cost is None else f"{cost.normalize():f}",
    )


def _milliseconds(span: timedelta) -> int:
    return max(0, round(span.total_seconds() * 1000))
