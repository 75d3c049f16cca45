"""Result and metrics of a run, read from its rows. The metrics of a root cover its whole tree.

Usage::

    result = result_of(run)      # the form of agents.output.results
    metrics = metrics_of(run)    # until now if the run has not ended
    ended = read_outcome(run_id)     # both, in one statement: OUTCOME
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from agents.choices import TERMINAL
from agents.errors import RunNotFoundError
from agents.models import Run
from agents.output.results import MetricsOut, ResultOut, build
from agents.reads.programs import files_of, main_program, programs_in
from heartbit_site.base.query import fetch_all

#: Query of a run's id, for ``outcome_in``; one, since those who wait for an end wait for it too.
OUTCOME: Final = """
    SELECT r.status, r.output, r.structured, r.error, r.created_at, r.started_at, r.finished_at,
           (SELECT jsonb_build_array(e.payload -> 'finish_reason', e.payload -> 'left_out',
                                    e.payload -> 'reviewed_by')
            FROM agents_runevent e
            WHERE e.run_id = r.id AND e.type = 'run.succeeded' ORDER BY e.seq LIMIT 1),
           ARRAY(SELECT d.target ->> 'name' FROM agents_delivery d
                 WHERE d.run_id = r.id AND d.kind = 'artifact' ORDER BY d.position),
           (SELECT count(*) FROM agents_toolcall c WHERE c.run_id = ANY(t.ids)),
           CASE WHEN v.mode IS NOT NULL THEN r.task END, v.mode, p.calls,
           u.calls, u.unpriced, u.input_tokens, u.output_tokens, u.cost_usd
    FROM agents_run r
    CROSS JOIN LATERAL (
        SELECT array_agg(m.id) AS ids FROM agents_run m
        WHERE m.root_id = r.root_id AND (r.parent_id IS NULL OR m.id = r.id)) t
    CROSS JOIN LATERAL (
        SELECT count(*) AS calls, count(*) FILTER (WHERE e.cost_usd IS NULL) AS unpriced,
               coalesce(sum(e.input_tokens), 0)::bigint AS input_tokens,
               coalesce(sum(e.output_tokens), 0)::bigint AS output_tokens,
               coalesce(sum(e.cost_usd), 0) AS cost_usd
        FROM base_usageentry e WHERE e.run_id = ANY(t.ids)) u
    LEFT JOIN LATERAL (
        SELECT w.snapshot ->> 'execution_mode' AS mode FROM agents_agentversion w
        WHERE w.id = r.version_id) v ON true
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_array(c.call_id, c.status, c.arguments, c.result)
                         ORDER BY c.id) AS calls
        FROM agents_toolcall c
        WHERE c.run_id = r.id AND c.tool IN ('run_code', 'run_code_online')) p
    WHERE r.id = %s
"""
_SPENT: Final = ("calls", "unpriced", "input_tokens", "output_tokens", "cost_usd")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Status, result and metrics of a run until now.

    Attributes:
        result: None as long as the run has not ended.
        error: ``{kind, message, limit}`` of a run that failed.
    """

    status: str
    result: ResultOut | None
    metrics: MetricsOut
    error: Any


def read_outcome(run_id: UUID) -> Outcome:
    """Return the outcome of a run.

    Raises:
        RunNotFoundError: The run does not exist or was deleted.
    """
    return outcome_in(fetch_all(OUTCOME, [run_id], prepare=True), run_id)


def outcome_in(rows: Sequence[Sequence[Any]], run_id: UUID) -> Outcome:
    """Return the outcome of a run in the rows of ``OUTCOME``.

    Raises:
        RunNotFoundError: As for ``read_outcome``.
    """
    if not rows:
        raise RunNotFoundError(f"There is no run {run_id}.")
    status, output, structured, error, created, started, finished, ending, kept, calls, *rest = (
        rows[0]
    )
    task, mode, ran, *sums = rest
    finish_reason, left_out, reviewed_by = _loaded(ending) or (None, None, None)
    spent = dict(zip(_SPENT, sums, strict=True))
    metrics = _metrics(created, started, finished, spent, tool_calls=calls)
    told = _loaded(error)
    result = None
    if status in TERMINAL:
        programs = programs_in(_loaded(ran) or (), run_id)
        result = build(
            status,
            text=output or "",
            data=_loaded(structured),
            error=told.get("message") if isinstance(told, dict) else None,
            metrics=metrics,
            kept=kept,
            finish_reason=finish_reason,
            left_out=left_out or "",
            programs=programs,
            files=files_of(programs, run_id),
            ran=main_program(programs, mode, task or "", output or ""),
            reviewed_by=reviewed_by or "",
        )
    return Outcome(status, result, metrics, told)


def result_of(run: Run) -> ResultOut:
    """Return the result of a run that has ended.

    The metrics of a root cover its whole tree.

    Raises:
        ValueError: The run has not ended.
    """
    result = read_outcome(run.pk).result
    if result is None:
        raise ValueError(f"a run that is {run.status!r} has no result")
    return result


def metrics_of(run: Run) -> MetricsOut:
    """Return the metrics of a run until now; those of a root include its sub-agents.

    The cost is None if the price of any model call is unknown.
    """
    return read_outcome(run.pk).metrics


def _metrics(
    created: datetime,
    started: datetime | None,
    finished: datetime | None,
    spent: dict[str, Any],
    *,
    tool_calls: int,
) -> MetricsOut:
    end = finished or timezone.now()
    cost = cost_of(spent)
    return MetricsOut(
        duration_ms=_milliseconds(end - created),
        queued_ms=_milliseconds((started or end) - created),
        model_calls=spent["calls"],
        tool_calls=tool_calls,
        input_tokens=spent["input_tokens"],
        output_tokens=spent["output_tokens"],
        cost_usd=None if cost is None else f"{cost.normalize():f}",
    )


def _loaded(column: str | None) -> Any:
    return None if column is None else json.loads(column)  # Django leaves it as text


def _milliseconds(span: timedelta) -> int:
    return max(0, round(span.total_seconds() * 1000))


def cost_of(spent: dict[str, Any]) -> Decimal | None:
    """Return the US dollars of ``SUMS`` of usage; 0 without calls, None if a price is unknown."""
    if spent.get("unpriced"):
        return None
    cost: Decimal = spent.get("cost_usd", Decimal(0))
    return cost
