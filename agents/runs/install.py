"""Put the SQL of this folder into the database; run by a migration whenever the SQL changed.

``FINGERPRINT`` is the hash of what the newest migration installs. A test fails when a file was
edited without a new migration and says what to do. A migration that changes the tables installs in
its own transaction, so that functions and tables fit at every moment. Earlier migrations of
functions are emptied: today's functions would not fit the tables of their time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from agents.runs.transitions import allowed_transitions

# Dropping functions drops their triggers, which locks those tables one after the other, while a
# live fleet locks them in orders of its own. So all locks are taken first; when one cannot be had
# within a tenth of a second, before PostgreSQL looks for a deadlock, the others are given back.
_LOCK = """
DO $$ DECLARE tables text; before text := current_setting('lock_timeout'); BEGIN
    SELECT string_agg(DISTINCT t.tgrelid::regclass::text, ', ') INTO tables
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE starts_with(p.proname, 'heartbit_')
          AND p.pronamespace = current_schema()::regnamespace;
    IF tables IS NULL THEN RETURN; END IF;
    PERFORM set_config('lock_timeout', '100ms', true);
    FOR attempt IN 1..300 LOOP
        BEGIN
            EXECUTE 'LOCK TABLE ' || tables || ' IN ACCESS EXCLUSIVE MODE';
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            IF attempt = 300 THEN RAISE; END IF;
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', before, true);
END $$
"""
_DROP = """
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT oid FROM pg_proc
             WHERE starts_with(proname, 'heartbit_')
                   AND pronamespace = current_schema()::regnamespace
    LOOP EXECUTE 'DROP FUNCTION IF EXISTS ' || f || ' CASCADE'; END LOOP;
END $$
"""
# By itself PostgreSQL plans a statement anew for each run's id, until it has seen often enough, in
# each session, that the plan is the same. Here it always is: the constants stand in the text.
_ONE_PLAN = """
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
             WHERE starts_with(p.proname, 'heartbit_') AND l.lanname = 'plpgsql'
                   AND p.pronamespace = current_schema()::regnamespace
    LOOP EXECUTE 'ALTER FUNCTION ' || f || ' SET plan_cache_mode = force_generic_plan'; END LOOP;
END $$
"""
_ANY_ORDER = "SET LOCAL check_function_bodies = off;"  # one function may name a later file's
_FOLDER = Path(__file__).parent / "sql"
FINGERPRINT = "2ce4832275b07984b46cf5b08ba14aa47209192d89db0a6d02f40f855bfff228"


def statements() -> str:
    """Return the SQL as installed."""
    guards = (
        (_FOLDER / "guards.sql")
        .read_text()
        .replace("{arrows}", "{" + ",".join(allowed_transitions()) + "}")
    )
    files = sorted(path for path in _FOLDER.glob("*.sql") if path.name != "guards.sql")
    return "\n".join([_ANY_ORDER, *(path.read_text() for path in files), guards, _ONE_PLAN])


def fingerprint() -> str:
    """Return the SHA-256 of the SQL."""
    return hashlib.sha256(statements().encode()).hexdigest()


def install(apps: Any, schema_editor: Any) -> None:
    """Create all functions and triggers; an operation of a migration.

    Existing functions are dropped first: one whose result type changed cannot be replaced. The
    fleet may run meanwhile: it waits for the migration's end.

    Raises:
        django.db.utils.OperationalError: Some transaction held a table for half a minute.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_LOCK)
        cursor.execute(_DROP)
        cursor.execute(statements())
