"""Roll-up: the figures of hours that are over become rows, so that pages of many days stay fast."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from agents.reads.figures import COLUMNS, LIVE, floor_hour, rolled_until
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import execute, fetch_one

#: An hour is over when the transactions that began in it have ended, too.
SETTLED: Final = timedelta(minutes=5)
MOST_AT_ONCE: Final = timedelta(days=1)
_LOCK: Final = 0x686F757273  # "hours"
_WRITE: Final = f"""
    WITH {LIVE} INSERT INTO agents_hourlyfigures (workspace_id, {COLUMNS})
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


def roll_up_hours(now: datetime, *, goes_on: Callable[[], bool] = lambda: True) -> int:
    """Write the rows of all hours that are over and have none; return the number of rows.

    Safe to run concurrently: the second process finds nothing left to do.

    Args:
        now: The present.
        goes_on: Asked before each transaction, which is of a day at most.
    """
    end, after, written = floor_hour(now - SETTLED), None, 0
    while goes_on():
        with transaction.atomic():
            execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            after = rolled_until() if after is None else max(after, rolled_until())
            (earliest,) = fetch_one(_EARLIEST, {"after": after})
            if earliest is None or (start := floor_hour(earliest)) >= end:
                break
            after = min(start + MOST_AT_ONCE, end)
            written += _write(start, after, now)
    return written


def _write(start: datetime, till: datetime, now: datetime) -> int:
    values = {"start": start, "till": till, "now": now, "waiting_from": till, "trees": True}
    workspaces = Workspace.objects.values_list("pk", flat=True)
    return sum(execute(_WRITE, {**values, "workspace": one}) for one in workspaces)
