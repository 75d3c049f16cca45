"""Roll-up: figures of what is over become rows, of five minutes, later of hours and of days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from agents.reads.figures import (
    COLUMNS,
    DAY,
    FIVE_MINUTES,
    FIVE_MINUTES_KEPT,
    HOUR,
    HOURS_KEPT,
    LIVE,
    SUMS,
    floor,
    floor_sql,
    merged,
    rolled_until,
)
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import execute, fetch_one

#: Five minutes are over when the transactions that began in them have ended, too.
SETTLED: Final = timedelta(minutes=2)
MOST_AT_ONCE: Final = DAY
_LOCK: Final = 0x686F757273  # "hours"
_WRITE: Final = f"""
    WITH {LIVE} INSERT INTO agents_spanfigures (workspace_id, {COLUMNS})
    SELECT %(workspace)s, {COLUMNS} FROM live
"""  # noqa: S608  constants
_EARLIEST: Final = """
    SELECT min(x.at) FROM base_workspace w CROSS JOIN LATERAL (
        (SELECT r.created_at AS at FROM agents_run r
         WHERE r.workspace_id = w.id AND r.created_at >= %(after)s ORDER BY r.created_at LIMIT 1)
        UNION ALL
        (SELECT r.finished_at FROM agents_run r
         WHERE r.workspace_id = w.id AND r.parent_id IS NULL AND r.finished_at IS NOT NULL
               AND r.finished_at >= %(after)s ORDER BY r.finished_at LIMIT 1)
        UNION ALL
        (SELECT u.at FROM base_usageentry u
         WHERE u.workspace_id = w.id AND u.at >= %(after)s ORDER BY u.at LIMIT 1)) x
"""
_ADD_UP: Final = f"""
    WITH parts AS (
        DELETE FROM agents_spanfigures
        WHERE minutes = %(shorter)s AND start < %(before)s RETURNING *
    )
    INSERT INTO agents_spanfigures (workspace_id, {COLUMNS})
    SELECT workspace_id, {floor_sql("start")}, %(minutes)s, version_id, agent, model, is_root,
           {", ".join(f"sum({name})" for name in SUMS)}, {merged("lasted")}, {merged("waited")},
           (array_agg(last_run ORDER BY last_run DESC NULLS LAST))[1]
    FROM parts GROUP BY workspace_id, 2, version_id, agent, model, is_root
"""  # noqa: S608  constants


def roll_up(now: datetime, *, goes_on: Callable[[], bool] = lambda: True) -> int:
    """Write the rows of all spans that are over and have none; return the number of rows.

    Safe to run concurrently: the second process finds nothing left to do.

    Args:
        now: The present.
        goes_on: Asked before each transaction, which is of a day at most.
    """
    hours_end, end = floor(now - FIVE_MINUTES_KEPT, HOUR), floor(now - SETTLED, FIVE_MINUTES)
    after, written = None, 0
    while goes_on():
        with transaction.atomic():
            execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            after = rolled_until() if after is None else max(after, rolled_until())
            (earliest,) = fetch_one(_EARLIEST, {"after": after})
            if earliest is None or earliest >= end:
                _add_up(FIVE_MINUTES, HOUR, hours_end)
                _add_up(HOUR, DAY, floor(now - HOURS_KEPT, DAY))
                break
            span, till = (HOUR, hours_end) if earliest < hours_end else (FIVE_MINUTES, end)
            start = max(after, floor(earliest, span))
            after = min(floor(start, span) + MOST_AT_ONCE, till)  # no row of a part of a span's end
            written += _write(start, after, span, now)
    return written


def _write(start: datetime, till: datetime, span: timedelta, now: datetime) -> int:
    values = {
        "start": start,
        "till": till,
        "minutes": _minutes(span),
        "now": now,
        "waiting_from": till,
        "trees": True,
    }
    workspaces = Workspace.objects.values_list("pk", flat=True)
    return sum(execute(_WRITE, {**values, "workspace": one}) for one in workspaces)


def _add_up(shorter: timedelta, longer: timedelta, before: datetime) -> None:
    """Replace the rows of a length by their sums."""
    values = {"shorter": _minutes(shorter), "minutes": _minutes(longer), "before": before}
    execute(_ADD_UP, values)


def _minutes(span: timedelta) -> int:
    return span // timedelta(minutes=1)
