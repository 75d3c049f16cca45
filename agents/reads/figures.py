"""Figures of runs and model calls: of past spans from their rows, of the present from runs.

Usage::

    query = over_figures("SELECT sum(runs) AS runs, {lasted} AS lasted FROM figures")
    [row] = read_figures(query, workspace.pk, since=now - timedelta(days=7), now=now)

``housekeeping.roll_up`` writes the rows of all workspaces for some spans in one transaction, the
earliest first; so all spans up to the end of the row that ends last have theirs.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from agents.reads.durations import bucket
from heartbit_site.base.query import fetch_named, fetch_one

FIVE_MINUTES: Final = timedelta(minutes=5)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
#: For how long rows of five minutes are kept; then they are added up to rows of hours.
FIVE_MINUTES_KEPT: Final = 2 * HOUR
#: For how long rows of hours are kept; then they are added up to rows of days.
HOURS_KEPT: Final = 32 * DAY
#: Windows that are read from runs alone, to the second: of alerts.
EXACT: Final = timedelta(minutes=30)
EPOCH: Final = datetime.fromtimestamp(0, UTC)
#: What rows of a longer span add up.
SUMS: Final = (
    *("runs", "ended", "succeeded", "failed", "seconds", "calls", "unpriced", "tokens"),
    *("input_tokens", "cost_usd", "tree_cost_usd", "tree_unpriced"),
)
_KEYS: Final = ("start", "minutes", "version_id", "agent", "model", "is_root")
COLUMNS: Final = ", ".join((*_KEYS, *SUMS, "lasted", "waited", "last_run"))
# The row that ends last need not be the one that starts last: a late roll-up writes an hour beside
# rows of its first minutes.
_END: Final = """
    SELECT max(x.till) FROM unnest(ARRAY[5, 60, 1440]) m CROSS JOIN LATERAL (
        SELECT start + make_interval(mins => m) AS till FROM agents_spanfigures
        WHERE minutes = m ORDER BY start DESC LIMIT 1) x
"""


def floor_sql(moment: str) -> str:
    """Return the SQL of ``floor``, with a span of ``minutes``, a parameter."""
    step = "make_interval(mins => %(minutes)s)"
    return f"date_bin({step}, {moment}, timestamptz 'epoch')"


def _counted(numbers: str) -> str:
    """Return the SQL of how often each number is in an array of the outer query."""
    counted = f"SELECT b, count(*) AS n FROM unnest({numbers}) b WHERE b IS NOT NULL GROUP BY b"  # noqa: S608
    return f"(SELECT coalesce(jsonb_object_agg(q.b, q.n), '{{}}') FROM ({counted}) q)"  # noqa: S608


_WAITS: Final = (
    "coalesce(r.started_at, CASE WHEN r.status = 'queued' AND r.available_at <= %(now)s "
    "THEN %(now)s END) - r.created_at"
)
#: Cost of a workflow's run and the runs below it, and its calls without a price; null unless asked.
_TREE: Final = """
    CASE WHEN %(trees)s AND r.kind = 'workflow' THEN (
        WITH RECURSIVE below AS (
            SELECT r.id UNION ALL SELECT c.id FROM below b JOIN agents_run c ON c.parent_id = b.id
        )
        SELECT ARRAY[sum(u.cost_usd), count(*) FILTER (WHERE u.cost_usd IS NULL)]
        FROM below b JOIN base_usageentry u ON u.run_id = b.id
    ) END
"""
#: CTE of the figures of a workspace from its runs, from ``start`` to before ``till``, by spans of
#: ``minutes``. Each part is read by an index: run_recent, run_ended, usage_by_workspace. How long a
#: run has waited that has not ended is for readers alone, from ``waiting_from``: it counts again
#: with the span of its end.
LIVE: Final = f"""
    found AS (
        SELECT {floor_sql("r.created_at")} AS start, r.version_id, r.agent, r.model,
               r.parent_id IS NULL AS is_root, 1 AS runs, 0 AS ended, 0 AS succeeded,
               0 AS failed, NULL::float AS seconds, NULL::int AS lasted, NULL::int AS waited,
               0 AS calls, 0 AS unpriced, 0::bigint AS tokens, 0::bigint AS input_tokens,
               0::numeric AS cost_usd, NULL::numeric[] AS tree, r.id AS last_run
        FROM agents_run r
        WHERE r.workspace_id = %(workspace)s AND r.kind <> 'extraction'
              AND r.created_at >= %(start)s AND r.created_at < %(till)s
        UNION ALL
        SELECT {floor_sql("r.created_at")}, r.version_id, r.agent, r.model, true, 0, 0, 0, 0, NULL,
               NULL, {bucket(f"date_part('epoch', {_WAITS})")}, 0, 0, 0, 0, 0, NULL, NULL
        FROM agents_run r
        WHERE r.workspace_id = %(workspace)s AND r.kind <> 'extraction' AND r.parent_id IS NULL
              AND r.finished_at IS NULL
              AND r.created_at >= %(waiting_from)s AND r.created_at < %(till)s
        UNION ALL
        SELECT {floor_sql("t.finished_at")}, r.version_id, r.agent, r.model, r.parent_id IS NULL,
               0, 1, (r.status = 'succeeded')::int, (r.status IN ('failed', 'quarantined'))::int,
               date_part('epoch', r.finished_at - r.started_at),
               {bucket("date_part('epoch', r.finished_at - r.started_at)")},
               CASE WHEN r.parent_id IS NULL
                    THEN {bucket("date_part('epoch', r.started_at - r.created_at)")} END,
               0, 0, 0, 0, 0, {_TREE}, NULL
        FROM agents_run t JOIN agents_run r ON r.root_id = t.id
        WHERE t.workspace_id = %(workspace)s AND t.parent_id IS NULL AND r.kind <> 'extraction'
              AND t.finished_at >= %(start)s AND t.finished_at < %(till)s
        UNION ALL
        SELECT {floor_sql("u.at")}, r.version_id, coalesce(r.agent, ''), coalesce(r.model, ''),
               r.parent_id IS NULL, 0, 0, 0, 0, NULL, NULL, NULL, 1, (u.cost_usd IS NULL)::int,
               u.input_tokens::bigint + u.output_tokens, u.input_tokens::bigint,
               coalesce(u.cost_usd, 0), NULL, NULL
        FROM base_usageentry u LEFT JOIN agents_run r ON r.id = u.run_id
        WHERE u.workspace_id = %(workspace)s AND u.at >= %(start)s AND u.at < %(till)s
    ), live AS (
        SELECT start, %(minutes)s AS minutes, version_id, agent, model, is_root,
               sum(runs) AS runs, sum(ended) AS ended,
               sum(succeeded) AS succeeded, sum(failed) AS failed,
               coalesce(sum(seconds), 0) AS seconds, {_counted("array_agg(lasted)")} AS lasted,
               {_counted("array_agg(waited)")} AS waited, sum(calls) AS calls,
               sum(unpriced) AS unpriced, sum(tokens) AS tokens,
               sum(input_tokens) AS input_tokens, sum(cost_usd) AS cost_usd,
               coalesce(sum(tree[1]), 0) AS tree_cost_usd,
               coalesce(sum(tree[2]), 0) AS tree_unpriced,
               (array_agg(last_run ORDER BY last_run DESC NULLS LAST))[1] AS last_run
        FROM found GROUP BY start, version_id, agent, model, is_root
    )
"""  # noqa: S608  constants
_FIGURES: Final = f"""
    WITH {LIVE}, figures AS (
        SELECT {COLUMNS} FROM live
        UNION ALL
        SELECT {COLUMNS} FROM agents_spanfigures
        WHERE workspace_id = %(workspace)s AND start >= %(first)s
              AND start < %(start)s  -- no rows that were written since rolled_until
    )
"""  # noqa: S608  constants


def over_figures(query: str) -> str:
    """Return a query for ``read_figures``.

    Args:
        query: A SELECT from ``figures``, which has ``COLUMNS``. ``{lasted}`` and ``{waited}`` are
            aggregates: the sum of distributions.
    """
    return _FIGURES + query.format(lasted=merged("lasted"), waited=merged("waited"))


def merged(column: str) -> str:
    """Return the SQL of an aggregate: the sum of distributions."""
    added = f"""
        SELECT e.key AS b, sum(e.value::bigint) AS n
        FROM unnest(array_agg({column})) d, jsonb_each(d) e GROUP BY e.key
    """  # noqa: S608  a column
    return f"(SELECT coalesce(jsonb_object_agg(q.b, q.n), '{{}}') FROM ({added}) q)"  # noqa: S608


def read_figures(
    query: str,
    workspace_id: int,
    *,
    since: datetime,
    now: datetime,
    waiting: bool = False,
    trees: bool = False,
    **values: object,
) -> list[dict[str, Any]]:
    """Return the rows of a query of the figures of a workspace, with ``lasted`` and ``waited``.

    Args:
        query: Of ``over_figures``.
        workspace_id: The workspace.
        since: All of its hour counts; in the last two hours, all of its five minutes; before the
            last 32 days, all of its day; in the last half hour it is exact.
        now: The present.
        waiting: Count in ``waited`` also what runs have waited that have not ended.
        trees: Add up ``tree_cost_usd`` and ``tree_unpriced``, which are 0 otherwise for what
            has no rows: reading them costs as much as there are runs below workflows.
        values: Further parameters of the query.
    """
    is_exact = now - since <= EXACT
    first = since if is_exact else floor(since, _step(now - since))
    given = {
        "workspace": workspace_id,
        "first": now + HOUR if is_exact else first,
        "start": first if is_exact else max(first, rolled_until()),
        "minutes": 60,  # no query asks for less
        "till": now + HOUR,  # the database's clock may be ahead
        "now": now,
        "waiting_from": first if waiting else now + HOUR,
        "trees": trees,
    }
    rows = fetch_named(query, {**given, **values})
    for row in rows:
        row.update((name, json.loads(row[name])) for name in ("lasted", "waited") if name in row)
    return rows


def rolled_until() -> datetime:
    """Return the end of the last span that has rows; the epoch if there is none."""
    (end,) = fetch_one(_END)
    return end or EPOCH


def floor(moment: datetime, span: timedelta) -> datetime:
    """Return the start of a moment's span: of its day, hour or five minutes, of UTC."""
    return moment - (moment - EPOCH) % span


def _step(ago: timedelta) -> timedelta:
    """Return the length of the rows that there may be from so long ago."""
    return FIVE_MINUTES if ago <= FIVE_MINUTES_KEPT else HOUR if ago <= HOURS_KEPT else DAY
