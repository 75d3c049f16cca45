"""The SQL in the tree, in the migrations and in the database are one."""

from __future__ import annotations

import re
from pathlib import Path

from django.db import connection

from agents.models.run import HELD_UNTIL
from agents.runs import install
from agents.runs.transitions import allowed_transitions

ROOT = Path(__file__).parents[2]
PACKAGES = ("agents", "heartbit_site", "memory", "scheduling", "tools")
WRITES_AUDIT = re.compile(
    r"INTO\s+base_auditentry|AuditEntry\(\w+=|AuditEntry\.objects\.(bulk_)?(create|get_or|update_or)",
    re.I,
)


def test_a_changed_function_has_a_new_migration() -> None:
    assert install.fingerprint() == install.FINGERPRINT, (
        "agents/runs/sql changed: add a migration that runs agents.runs.install.install, then set "
        f"FINGERPRINT = {install.fingerprint()!r} in agents/runs/install.py"
    )


def test_the_databases_guard_holds_the_transition_table(database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = 'heartbit_check_transition'")
        (source,) = cursor.fetchone()
    assert "'{" + ",".join(allowed_transitions()) + "}'" in source


def test_a_held_run_is_told_by_the_time_that_the_database_gives_it(database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_held()")
        assert cursor.fetchone() == (HELD_UNTIL,)


def test_audit_entries_are_written_by_record_alone() -> None:
    files = [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".sql") and WRITES_AUDIT.search(path.read_text())
    ]
    assert [str(path.relative_to(ROOT)) for path in files] == ["heartbit_site/base/audit.py"]
