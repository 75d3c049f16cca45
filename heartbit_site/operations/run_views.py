"""Rows of runs as the views of the contract."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import JSONArray

from agents.choices import TERMINAL, RunStatus
from agents.models import Run, RunEvent, WorkerHeartbeat
from agents.models.draft import DRAFT
from agents.querysets import tree_rows
from agents.reads.outcome import OUTCOME, Outcome, cost_of, outcome_in
from heartbit_site.base.preview import preview
from heartbit_site.base.query import fetch_all, fetch_named, fetch_together, instance_of
from heartbit_site.contract.runs import ForkOut, RunDetailOut, RunRowOut, RunTreeOut, RunViewOut
from heartbit_site.operations.paging import with_beginning

#: What the model calls of each run cost; None where a price is unknown.
Costs = dict[UUID, Decimal | None]

_COSTS: Final = """
    SELECT run_id, count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced,
           coalesce(sum(cost_usd), 0) AS cost_usd
    FROM base_usageentry WHERE run_id = ANY(%s) GROUP BY run_id
"""
#: Stands for a tree's root in a query that is compiled once.
_ROOT: Final = UUID(int=0)

_MOST_FORKS = 20


def costs_of(runs: Iterable[Run]) -> Costs:
    """Return the cost of each of these runs, without sub-agents; 0 without a model call."""
    ids = [run.pk for run in runs]
    spent: dict[UUID, Any] = {row["run_id"]: row for row in fetch_named(_COSTS, [ids])}
    return {run_id: cost_of(spent.get(run_id, {})) for run_id in ids}


def summaries(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Defer the columns that a list does not show."""
    runs = runs.annotate(origin=F("version__agent__origin"))
    return with_beginning(runs, "task").defer("payload", "output", "structured")


def summary(run: Any, costs: Mapping[UUID, Decimal | None]) -> RunRowOut:
    """Return a run of a list; it comes from ``summaries``."""
    task, test = preview(run.task_beginning), run.origin == DRAFT
    return RunRowOut.of(run, task=task, usage=run, cost_usd=costs[run.pk], test=test)


def detail(run: Run) -> RunDetailOut:
    """Return a run with its tree and its result."""
    row, values, _ = _whole(run.root_id, run.pk)
    return RunDetailOut.of(row, **values)


def detail_of_root(run_id: UUID) -> RunDetailOut:
    """Return the run at the top of a tree, as ``detail`` does."""
    row, values, _ = _whole(run_id, run_id)
    return RunDetailOut.of(row, **values)


def detail_of_new(run_id: UUID) -> RunDetailOut:
    """Return a run that was just created, as ``detail_of_root`` does."""
    row, *below = _runs(fetch_all(*_tree_query(run_id), prepare=True))
    if below or row.started_at or row.finished_at:  # a worker can be that quick
        return detail_of_root(run_id)
    costs: Costs = {run_id: Decimal(0)}  # no worker has claimed it yet
    return RunDetailOut.of(row, **_computed(row, [], costs), result=None)


def seen(run: Run) -> RunViewOut:
    """Return a run in the requested form."""
    from agents.limits.pauses import blocked_reason  # noqa: PLC0415  a list has no such reason

    row, values, outcome = _whole(run.root_id, run.pk)
    version, blocked = row.version.number, blocked_reason(row)
    return RunViewOut.of(
        row,
        **values,
        version=version,
        blocked_reason=blocked,
        crashes=row.crashes + (row.status == RunStatus.QUARANTINED),  # its last one ended it
        metrics=outcome.metrics,
        forks=_forks(row),
    )


def _forks(run: Run) -> list[ForkOut]:
    """Return the newest forks of a run, each with the last turn that was copied."""
    from agents.journal.events import RunForked  # noqa: PLC0415  a list of runs needs no events

    found = RunEvent.objects.filter(
        run__forked_from=run.pk, type=RunForked.type, payload__source=str(run.pk)
    )
    rows = found.order_by("-run_id").values_list("run_id", "payload__turn")[:_MOST_FORKS]
    return [ForkOut(id=str(fork), turn=turn) for fork, turn in rows]


@functools.cache
def _compiled_tree_query() -> tuple[str, tuple[Any, ...]]:
    """Return the query of a tree's rows with ``has_worker``, compiled once because that is slow."""
    serving = WorkerHeartbeat.objects.serving().filter(
        queues__contains=JSONArray(OuterRef("queue"))
    )
    return tree_rows(_ROOT).annotate(has_worker=Exists(serving)).query.sql_with_params()


def _tree_query(root_id: UUID) -> tuple[str, list[Any]]:
    query, parameters = _compiled_tree_query()
    return query, [root_id if value == _ROOT else value for value in parameters]


def _runs(tree: Iterable[Sequence[Any]]) -> list[Any]:
    found = []
    for *values, has_worker in tree:
        run: Any = instance_of(Run, values)
        run.has_worker = has_worker
        found.append(run)
    return found


def _whole(root_id: UUID, run_id: UUID) -> tuple[Run, dict[str, Any], Outcome]:
    """Return a run's row, the view's values that are not in the row, and its outcome."""
    tree, ended = fetch_together(_tree_query(root_id), (OUTCOME, [run_id]))
    rows, outcome = _runs(tree), outcome_in(ended, run_id)
    row = next(row for row in rows if row.pk == run_id)  # of the same moment as the others
    costs: Costs
    if len(rows) == 1:
        cost = outcome.metrics.cost_usd
        costs = {run_id: None if cost is None else Decimal(cost)}
    else:
        costs = costs_of(rows)
    # Unless the run has ended between the two statements.
    result = outcome.result if row.status in TERMINAL else None
    return row, {**_computed(row, rows, costs), "result": result}, outcome


def _computed(run: Run, rows: list[Run], costs: Costs) -> dict[str, Any]:
    """Return the view's values that are not in the row, for a run and the runs below it."""
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
