"""Rows of many runs at once, by SQL: copies of a real run that the worker has just finished.

Every column is copied that is not said to differ, so the rows stay true when the tables change.
Foreign keys and triggers are not checked meanwhile (``session_replication_role``): the copies are
right by construction, and a million of them would take minutes more. Ids are UUIDv7 of the past.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from agents.models import Run, RunEvent, Wait
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from django.db.models import Model

BATCH = 50_000
APART_MS = 2  # between two runs
#: The id of the n-th copy: its moment, then n; ``%(base)s`` is the first one's milliseconds.
_ID = (
    "(lpad(to_hex(%(base)s + n * %(apart)s), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid"
)
_AT = "to_timestamp((%(base)s + n * %(apart)s) / 1000.0)"
_FINISHED = {
    "id": _ID,
    "root_id": _ID,
    # Words of its own, as tasks have: what a search costs depends on them.
    "task": "t.task || ' ' || md5(n::text) || ' order' || n %% 5000",
    "created_at": _AT,
    "started_at": _AT,
    "finished_at": _AT,
}
_OF_FINISHED = {"run_id": _ID, "at": _AT}
_WAITING = {
    "id": _ID,
    "root_id": _ID,
    "created_at": _AT,
    "started_at": _AT,
    "finished_at": "NULL",
    "status": "'waiting'",
    "output": "NULL",
    "open_waits": "1",
}


def finished(template: UUID, *, count: int, seconds: float) -> int:
    """Copy a finished run with its journal; stop after ``seconds``. How many there are now."""
    return _finished((Run, RunEvent), template, count, APART_MS, seconds)


def spread(template: UUID, *, count: int, days: int) -> None:
    """Copy a finished run with its journal and its model calls, evenly over the last days."""
    apart_ms = days * 86_400_000 // count
    _finished((Run, RunEvent, UsageEntry), template, count, apart_ms, math.inf)


def _finished(
    models: Sequence[type[Model]], template: UUID, count: int, apart_ms: int, seconds: float
) -> int:
    deadline = time.monotonic() + seconds
    base = _base(count, apart_ms)
    done = 0
    while done < count and time.monotonic() < deadline:
        upto = min(count, done + BATCH)
        values: dict[str, Any] = {
            "base": base,
            "apart": apart_ms,
            "first": done + 1,
            "last": upto,
            "template": template,
        }
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for model in models:
                key, different = ("id", _FINISHED) if model is Run else ("run_id", _OF_FINISHED)
                cursor.execute(_copy(model, key, different), values)
        done = upto
    return done


def waiting(template: UUID, *, count: int) -> None:
    """Copy a run as one that waits for a timer that rings tomorrow."""
    values: dict[str, Any] = {
        "base": _base(count, APART_MS),
        "apart": APART_MS,
        "first": 1,
        "last": count,
        "template": template,
    }
    events = _copy(RunEvent, "run_id", {"run_id": _ID, "at": _AT})
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_copy(Run, "id", _WAITING), values)
        cursor.execute(f"{events} AND t.type IN ('run.created', 'run.started')", values)
        cursor.execute(
            f"INSERT INTO {Wait._meta.db_table} (run_id, key, kind, call_id, expires_at, "  # noqa: S608  constants
            f"created_at) SELECT {_ID}, 'timer:1', 'timer', '', {_AT} + interval '1 day', {_AT} "
            "FROM generate_series(%(first)s::bigint, %(last)s::bigint) n",
            values,
        )


def remove(workspace_id: int) -> None:
    """Delete the copies in a workspace: those whose id ends as only theirs do."""
    those = (
        "SELECT id FROM agents_run WHERE workspace_id = %s AND substr(id::text, 15, 6) = '7000-8'"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table in ("agents_wait", "agents_runevent", "base_usageentry"):
            cursor.execute(f"DELETE FROM {table} WHERE run_id IN ({those})", [workspace_id])  # noqa: S608  constants
        cursor.execute(f"DELETE FROM agents_run WHERE id IN ({those})", [workspace_id])  # noqa: S608  constants


def _copy(model: type[Model], key: str, different: Mapping[str, str]) -> str:
    """The statement that copies the template's rows of a table for each n."""
    columns: list[Any] = [
        field.column
        for field in model._meta.local_concrete_fields
        if field.column is not None and (not field.primary_key or field.column in different)
    ]
    chosen = ", ".join(different.get(column, f"t.{column}") for column in columns)
    table = model._meta.db_table
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} "  # noqa: S608  names of columns
        f"FROM generate_series(%(first)s::bigint, %(last)s::bigint) n, {table} t "
        f"WHERE t.{key} = %(template)s"
    )


def _base(count: int, apart_ms: int) -> int:
    """Milliseconds of the epoch, so long ago that all copies are in the past."""
    return int(time.time() * 1000) - apart_ms * (count + 10) - 2_000


def settle() -> None:
    """What the server would do in its own time, now: statistics, hint bits, dirty pages."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")
