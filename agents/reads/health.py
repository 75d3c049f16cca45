"""Figures of a workspace in a span of time: delays, failures, errors, latency and cost.

Usage::

    found = read_health(workspace.pk, SPANS["24h"], timezone.now())
    found.figures["queue_delay_p95"]                   # seconds; None: no run began
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.core.cache import cache
from django.utils import timezone

from agents.reads.durations import percentile
from agents.reads.figures import over_figures, read_figures
from heartbit_site.base.query import fetch_named

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

#: Failed runs whose sentences are compared, the newest.
MOST_FAILED: Final = 5_000
_PAIRS: Final = over_figures("""
SELECT agent, model, is_root, sum(runs)::bigint AS runs, sum(ended)::bigint AS ended,
       sum(failed)::bigint AS failed, {lasted} AS lasted, {waited} AS waited,
       sum(calls)::bigint AS calls, sum(unpriced)::bigint AS unpriced, sum(cost_usd) AS cost,
       sum(tokens)::bigint AS tokens
FROM figures GROUP BY agent, model, is_root
""")
# By the index run_failed, the newest first.
_ERRORS: Final = """
SELECT sentence, count(*) AS runs, min(finished_at) AS first, max(finished_at) AS last,
       (array_agg(id::text ORDER BY finished_at DESC))[1:3] AS latest
FROM (
    SELECT id, finished_at, left(regexp_replace(coalesce(error ->> 'message', status),
                                                %(numbers)s, '…', 'gi'), %(most)s) AS sentence
    FROM agents_run
    WHERE workspace_id = %(workspace)s AND status IN ('failed', 'quarantined')
          AND created_at >= %(since)s AND kind <> 'extraction' AND private_to_id IS NULL
    ORDER BY id DESC LIMIT %(failed)s
) r GROUP BY sentence ORDER BY count(*) DESC, sentence LIMIT %(errors)s
"""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed runs with one sentence, whose ids and numbers are left out; none that is private.

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
    """Return the figures of a workspace in the last ``span``, or up to an hour more.

    Of an hour, up to five minutes more. A run counts when it is accepted; its failure, duration and
    delay when its tree ends. What a run has waited that has not ended counts, too.
    """
    rows = read_figures(_PAIRS, workspace_id, since=now - span, now=now, waiting=True)
    roots = [row for row in rows if row["is_root"]]
    delays = _summed(row["waited"] for row in roots)
    ended, failed = (sum(row[name] for row in roots) for name in ("ended", "failed"))
    by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        by_pair.setdefault((row["agent"], row["model"]), []).append(row)
    listed = [_pair(*key, parts) for key, parts in by_pair.items()]
    listed.sort(key=lambda one: (-one.cost, -one.runs, one.agent, one.model))
    return HealthReport(
        figures={
            "queue_delay_p50": percentile(delays, 0.5),
            "queue_delay_p95": percentile(delays, 0.95),
            "runs": sum(row["runs"] for row in roots),
            "failures": failed,
            "failure_rate": 100 * failed / ended if ended else None,
            "cost": float(sum((one.cost for one in listed), start=Decimal(0))),
        },
        errors=_errors(workspace_id, now - span),
        pairs=listed[:MOST_PAIRS],
        unpriced=sum(one.unpriced for one in listed),
    )


def _errors(workspace_id: int, since: datetime) -> list[ErrorGroup]:
    values = {
        "workspace": workspace_id,
        "since": since,
        "numbers": _NUMBERS,
        "most": _MOST_OF_SENTENCE,
        "failed": MOST_FAILED,
        "errors": MOST_ERRORS,
    }
    return [ErrorGroup(**row) for row in fetch_named(_ERRORS, values)]


def _pair(agent: str, model: str, parts: list[dict[str, Any]]) -> Pair:
    """Return the sum of an agent's own runs and its runs as a sub-agent."""
    lasted = _summed(part["lasted"] for part in parts)
    names = ("runs", "failed", "calls", "unpriced", "tokens")
    return Pair(
        agent,
        model,
        median=percentile(lasted, 0.5),
        slow=percentile(lasted, 0.95),
        cost=sum((part["cost"] for part in parts), start=Decimal(0)),
        **{name: sum(part[name] for part in parts) for name in names},
    )


def _summed(distributions: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in distributions:
        total.update(one)
    return total
