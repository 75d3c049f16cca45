"""Installing the SQL functions while the fleet works: an upgrade without a pause."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg.sql import SQL, Identifier

from agents.runs.install import install
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

GUARDED = """
    SELECT DISTINCT t.tgrelid::regclass::text FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE starts_with(p.proname, 'heartbit_') ORDER BY 1
"""
READ = SQL("SELECT 1 FROM {} LIMIT 1")
BLOCKED = "SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted"


@pytest.fixture
def upgrade(database: None) -> Iterator[Any]:
    """The connection of a migration, which is rolled back at the end."""
    other = connection.copy()
    other.inc_thread_sharing()
    other.set_autocommit(False)
    yield other
    other.rollback()
    other.close()


def guarded_tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(GUARDED)
        return [name for (name,) in cursor.fetchall()]


def is_blocked(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(BLOCKED, [pid])
        return cursor.fetchone() is not None


@pytest.mark.parametrize("held", ["agents_agentversion", "agents_run", "agents_runevent"])
def test_a_transaction_that_goes_on_to_other_tables_is_no_deadlock(upgrade: Any, held: str) -> None:
    tables = guarded_tables()
    assert held in tables, tables
    pid = upgrade.connection.info.backend_pid
    with psycopg.connect(settings.DATABASE_URL) as worker, ThreadPoolExecutor(1) as pool:
        worker.execute(READ.format(Identifier(held)))
        installing = pool.submit(install, None, SimpleNamespace(connection=upgrade))
        wait_until(lambda: is_blocked(pid), what="the upgrade waits for the worker")
        for table in tables:
            worker.execute(READ.format(Identifier(table)))
        worker.rollback()
        installing.result(timeout=60)


def test_it_locks_what_it_changes_until_its_end(upgrade: Any) -> None:
    install(None, SimpleNamespace(connection=upgrade))
    with psycopg.connect(settings.DATABASE_URL) as worker:
        worker.execute("SET lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            worker.execute("SELECT 1 FROM agents_run LIMIT 1")
    with upgrade.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",), "the migration's own limit is back"


def test_no_migration_is_missing(database: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
