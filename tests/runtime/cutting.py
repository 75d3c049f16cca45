"""Database connections cut at a chosen place: a locked table holds whoever comes to read it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from django.conf import settings
from psycopg import sql

from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND %s = ANY (pg_blocking_pids(pid))
"""


@contextmanager
def locked(table: str) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Lock a table; yield a function that cuts all who wait for it until a condition holds."""
    with (
        psycopg.connect(settings.DATABASE_URL) as holder,
        # Another one, because a transaction sees one snapshot of the activity.
        psycopg.connect(settings.DATABASE_URL, autocommit=True) as cutter,
    ):
        own = holder.info.backend_pid
        holder.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table))
        )

        def cut_until(condition: Callable[[], object]) -> None:
            def are_cut() -> bool:
                cutter.execute(_CUT, (own,))
                return bool(condition())

            wait_until(are_cut, what=f"readers of {table} cut off")

        yield cut_until
