"""What a run gave and what it took, from its rows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agents import results
from agents.choices import TERMINAL
from agents.events import ModelAnswered, RunCancelled, RunFailed, RunSucceeded
from agents.models import RunEvent, ToolCall
from heartbit_site.api.forms import costs_of, money

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from agents.models import Run

_ENDINGS = (RunSucceeded.type, RunFailed.type, RunCancelled.type)


def result_of(
    run: Run, runs: list[Run], costs: Mapping[UUID, Decimal | None] | None = None
) -> dict[str, Any] | None:
    """The result form of a run; None as long as it has not ended.

    Args:
        run: The run.
        runs: The rows of its tree.
        costs: What they cost, if that is known already.
    """
    if run.status not in TERMINAL:
        return None
    ending = _ending(run)
    error = run.error.get("message") if isinstance(run.error, dict) else None
    found = results.build(
        run.status,
        text=run.output or str(ending.get("partial") or ""),
        data=run.structured,
        error=str(error) if error else None,
        metrics=_metrics(run, _below(run, runs), costs),
    )
    return {**found.as_dict(), "finish_reason": ending.get("finish_reason")}


def _ending(run: Run) -> dict[str, Any]:
    last = RunEvent.objects.filter(run=run, type__in=_ENDINGS).order_by("-seq").first()
    return last.payload if last is not None else {}


def _below(run: Run, runs: list[Run]) -> list[Run]:
    """The run and its sub-agents, of the rows of its tree."""
    found, ids = [run], {run.pk}
    for row in runs:  # parents are older than their children
        if row.parent_id in ids:
            found.append(row)
            ids.add(row.pk)
    return found


def _metrics(
    run: Run, below: list[Run], costs: Mapping[UUID, Decimal | None] | None
) -> results.Metrics:
    costs = costs_of(below) if costs is None else costs
    ids = [row.pk for row in below]
    known = [cost for run_id in ids if (cost := costs[run_id]) is not None]
    total = sum(known, Decimal(0)) if len(known) == len(ids) else None
    return results.Metrics(
        duration_ms=_milliseconds(run.created_at, run.finished_at),
        queued_ms=_milliseconds(run.created_at, run.started_at or run.finished_at),
        model_calls=RunEvent.objects.filter(run_id__in=ids, type=ModelAnswered.type).count(),
        tool_calls=ToolCall.objects.filter(run_id__in=ids).count(),
        input_tokens=sum(row.input_tokens for row in below),
        output_tokens=sum(row.output_tokens for row in below),
        cost_usd=money(total),
    )


def _milliseconds(begin: datetime, end: datetime | None) -> int:
    return max(0, round((end - begin).total_seconds() * 1000)) if end else 0
