"""Installation of this folder's SQL in the database, by a migration for each change of the SQL.

``FINGERPRINT`` is the hash of the SQL that the newest migration installs. If a file was edited
without a new migration, a test fails and says what to do. A migration that changes tables installs
the functions in the same transaction, so that both always match. It takes over the operation from
the one before it: today's functions would not match the tables of that time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from agents.runs.transitions import allowed_transitions
from heartbit_site.base.people import with_accounts

# Dropping functions drops their triggers, which locks those tables one by one, while a live fleet
# locks them in another order. So all locks are taken first. If one is not available within a tenth
# of a second, before PostgreSQL checks for a deadlock, the others are released.
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
# By default each session of PostgreSQL plans a statement again for each run's id, until several
# plans were the same. For these functions they always are: the text has the constants.
_ONE_PLAN = """
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
             WHERE starts_with(p.proname, 'heartbit_') AND l.lanname = 'plpgsql'
                   AND p.pronamespace = current_schema()::regnamespace
    LOOP EXECUTE 'ALTER FUNCTION ' || f || ' SET plan_cache_mode = force_generic_plan'; END LOOP;
END $$
"""
_ANY_ORDER = "SET LOCAL check_function_bodies = off;"  # a function may call one of a later file
_FOLDER = Path(__file__).parent / "sql"
FINGERPRINT = "274394dd1b28becb2a6c0656c4b6665acf5ec7c55006222a61a9d1b5fd2acbfb"


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

    Existing functions are dropped first, because a function with a changed result type cannot be
    replaced. The fleet may keep running: it waits for the end of the migration.

    Raises:
        django.db.utils.OperationalError: A transaction locked a table for half a minute.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_LOCK)
        cursor.execute(_DROP)
        cursor.execute(with_accounts(statements()))
