"""Figures of a workspace in a span of time: delays, failures, errors, latency and cost.

Usage::

    found = read_health(workspace.pk, SPANS["24h"])    # two statements, each bounded by the span
    found.figures["queue_delay_p95"]                   # seconds; None: no run began
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.core.cache import cache
from django.utils import timezone

from heartbit_site.base.query import fetch_all, fetch_one

#: The spans to choose from, by their name in addresses.
SPANS: Final = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
MOST_ERRORS = 20
MOST_PAIRS = 50
_MOST_OF_SENTENCE = 300
#: What differs in errors of one kind, as PostgreSQL's regular expression.
_NUMBERS = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\y[0-9a-f]{16,}\y|\d+([.,:]\d+)*"

# Read once, from the index run_recent; only few rows have an error.
_RUNS: Final = """
WITH r AS MATERIALIZED (
    SELECT id, agent, model, status, parent_id IS NULL AS is_root, finished_at,
           -- A run that no worker takes has waited until now.
           date_part('epoch', coalesce(started_at, CASE WHEN status = 'queued'
               AND available_at <= %(now)s THEN %(now)s END) - created_at) AS waited,
           date_part('epoch', finished_at - started_at) AS lasted,
           CASE WHEN status IN ('failed', 'quarantined') THEN coalesce(
               error ->> 'message', status) END AS error
    FROM agents_run
    WHERE workspace_id = %(workspace)s AND created_at >= %(since)s AND kind <> 'extraction'
), figures AS (
    SELECT count(*) AS runs,
           count(*) FILTER (WHERE status IN ('failed', 'quarantined')) AS failed,
           count(*) FILTER (WHERE finished_at IS NOT NULL) AS ended,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY waited) AS delays
    FROM r WHERE is_root
), sentences AS (
    SELECT id, finished_at,
           left(regexp_replace(error, %(numbers)s, '…', 'gi'), %(most)s) AS sentence
    FROM r WHERE error IS NOT NULL
), errors AS (
    SELECT sentence, count(*) AS runs, min(finished_at) AS first, max(finished_at) AS last,
           (array_agg(id ORDER BY finished_at DESC NULLS LAST))[1:3] AS latest
    FROM sentences GROUP BY sentence ORDER BY count(*) DESC, sentence LIMIT %(errors)s
), pairs AS (
    SELECT agent, model, count(*) AS runs,
           count(*) FILTER (WHERE status IN ('failed', 'quarantined')) AS failed,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY lasted) AS durations
    FROM r GROUP BY agent, model
)
SELECT (SELECT to_json(f) FROM figures f), (SELECT json_agg(e) FROM errors e),
       (SELECT json_agg(p) FROM pairs p)
"""
# The ledger outlives runs: what a deleted run used has no agent any more.
_USAGE: Final = """
SELECT r.agent, r.model, count(*), count(*) - count(u.cost_usd), coalesce(sum(u.cost_usd), 0),
       sum(u.input_tokens + u.output_tokens::bigint)
FROM base_usageentry u LEFT JOIN agents_run r ON r.id = u.run_id
WHERE u.workspace_id = %(workspace)s AND u.at >= %(since)s GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed runs with one sentence, whose ids and numbers are left out.

    Attributes:
        latest: Ids of its last three runs, the last one first.
    """

    sentence: str
    runs: int
    first: datetime | None
    last: datetime | None
    latest: list[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs of an agent with a model, sub-agents' included.

    Attributes:
        agent: Empty: runs that are deleted by now.
        median: Duration in seconds from start to end; None: none ended. ``slow`` is the 95th
            percentile.
        unpriced: Model calls without a known price, which ``cost`` leaves out.
    """

    agent: str
    model: str
    runs: int = 0
    failed: int = 0
    median: float | None = None
    slow: float | None = None
    calls: int = 0
    unpriced: int = 0
    cost: Decimal = Decimal(0)
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Figures of a span, its errors by frequency, and its agents and models by cost.

    Attributes:
        figures: By ``choices.HealthFigure``; None: there is nothing to measure.
        unpriced: Model calls without a known price.
    """

    figures: dict[str, float | None]
    errors: list[ErrorGroup]
    pairs: list[Pair]
    unpriced: int


def recent_health(workspace_id: int, span: str) -> HealthReport:
    """Return the figures of a span as they were a moment ago, for pages that many people look at.

    Args:
        workspace_id: The workspace.
        span: One of ``SPANS``: figures of an hour are at most 5 seconds old, others a minute.
    """
    key = f"heartbit-health-{workspace_id}-{span}"
    found: HealthReport | None = cache.get(key)
    if found is None:
        found = read_health(workspace_id, SPANS[span], timezone.now())
        cache.set(key, found, min(60, SPANS[span].total_seconds() // 720))
    return found


def read_health(workspace_id: int, span: timedelta, now: datetime) -> HealthReport:
    """Return the figures of a workspace in the last ``span``."""
    values = {
        "workspace": workspace_id,
        "since": now - span,
        "now": now,
        "numbers": _NUMBERS,
        "most": _MOST_OF_SENTENCE,
        "errors": MOST_ERRORS,
    }
    found, errors, pairs = (_read(part) for part in fetch_one(_RUNS, values))
    rows = {(one["agent"], one["model"]): _pair(one) for one in pairs or ()}
    used = fetch_all(_USAGE, values)
    for agent, model, *amounts in used:
        key = (agent or "", model or "")
        before = rows.get(key, {"agent": key[0], "model": key[1]})
        names = ("calls", "unpriced", "cost", "tokens")
        rows[key] = before | dict(zip(names, amounts, strict=True))
    listed = [Pair(**row) for row in rows.values()]
    listed.sort(key=lambda one: (-one.cost, -one.runs, one.agent, one.model))
    cost = sum((one.cost for one in listed), start=Decimal(0))
    delay, late = found["delays"] or (None, None)
    ended = found["ended"]
    return HealthReport(
        figures={
            "queue_delay_p50": delay,
            "queue_delay_p95": late,
            "runs": found["runs"],
            "failures": found["failed"],
            "failure_rate": 100 * found["failed"] / ended if ended else None,
            "cost": float(cost),
        },
        errors=[_error(one) for one in errors or ()],
        pairs=listed[:MOST_PAIRS],
        unpriced=sum(one.unpriced for one in listed),
    )


def _read(part: Any) -> Any:
    return json.loads(part) if isinstance(part, str) else part


def _pair(row: dict[str, Any]) -> dict[str, Any]:
    median, slow = row.pop("durations") or (None, None)
    return {**row, "median": median, "slow": slow}


def _error(row: dict[str, Any]) -> ErrorGroup:
    first, last = (row[name] and datetime.fromisoformat(row[name]) for name in ("first", "last"))
    return ErrorGroup(row["sentence"], row["runs"], first, last, row["latest"])
