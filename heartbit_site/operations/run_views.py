"""Rows of runs as the views of the contract."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.journal.events import RunForked
from agents.limits.pauses import blocked_reason
from agents.models import RunEvent, WorkerHeartbeat
from agents.querysets import tree
from agents.reads.metrics import SUMS, cost_of
from agents.reads.outcome import metrics_of
from agents.reads.outcome import result_of as find_result
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.preview import preview
from heartbit_site.contract.runs import ForkOut, RunDetailOut, RunSummaryOut, RunTreeOut, RunViewOut
from heartbit_site.operations.paging import with_beginning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from django.db.models import QuerySet

    from agents.models import Run
    from agents.output.results import ResultOut

#: What the model calls of each run cost; None where a price is unknown.
Costs = dict["UUID", Decimal | None]

_MOST_FORKS = 20


def costs_of(runs: Iterable[Run]) -> Costs:
    """Return what each of these runs cost by itself; 0 without a model call."""
    ids = [run.pk for run in runs]
    entries = UsageEntry.objects.filter(run_id__in=ids).values("run_id").order_by()
    spent: dict[UUID, Any] = {row["run_id"]: row for row in entries.annotate(**SUMS)}
    return {run_id: cost_of(spent.get(run_id, {})) for run_id in ids}


def summaries(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Leave what a list does not show in the database, as ``summary`` reads the rest."""
    return with_beginning(runs, "task").defer("payload", "output", "structured")


def summary(run: Any, costs: Mapping[UUID, Decimal | None]) -> RunSummaryOut:
    """Return a run of a list; it comes from ``summaries``."""
    return RunSummaryOut.of(
        run, task=preview(run.task_beginning), usage=run, cost_usd=costs[run.pk]
    )


def detail(run: Run) -> RunDetailOut:
    """Return a run as it is answered alone: with its tree and its result."""
    row, values = _whole(run)
    return RunDetailOut.of(row, **values)


def seen(run: Run) -> RunViewOut:
    """Return a run in the form that the caller asks for."""
    row, values = _whole(run)
    result: ResultOut | None = values["result"]
    metrics = metrics_of(row) if result is None else result.metrics
    version, blocked = row.version.number, blocked_reason(row)
    return RunViewOut.of(
        row, **values, version=version, blocked_reason=blocked, metrics=metrics, forks=_forks(row)
    )


def result_of(run: Run) -> ResultOut | None:
    """Return the result of a run; None as long as it has not ended."""
    return find_result(run) if run.status in TERMINAL else None


def _forks(run: Run) -> list[ForkOut]:
    """Return the newest forks of a run, each with the last turn that was copied."""
    found = RunEvent.objects.filter(
        run__forked_from=run.pk, type=RunForked.type, payload__source=str(run.pk)
    )
    rows = found.order_by("-run_id").values_list("run_id", "payload__turn")[:_MOST_FORKS]
    return [ForkOut(id=str(fork), turn=turn) for fork, turn in rows]


def _whole(run: Run) -> tuple[Run, dict[str, Any]]:
    """Return a run's row and the values of its view that the row does not have."""
    rows = tree(run.root_id)
    row = next(row for row in rows if row.pk == run.pk)  # of the same moment as the others
    return row, {
        **_computed(row, rows, costs_of(rows)),
        "result": result_of(row),
        "has_worker": WorkerHeartbeat.objects.serving(row.queue).exists(),
    }


def _computed(run: Run, rows: list[Run], costs: Costs) -> dict[str, Any]:
    """Return what a run's row does not say of itself and of the runs below it."""
    return {
        "task_characters": len(run.task),
        "usage": run,
        "cost_usd": costs[run.pk],
        "children": [
            RunTreeOut.of(child, **_computed(child, rows, costs))
            for child in rows
            if child.parent_id == run.pk
        ],
    }
