"""Put the SQL of this folder into the database; run by a migration whenever the SQL changed.

``FINGERPRINT`` is the hash of what the newest migration installs. A test fails when a file was
edited without a new migration and says what to do.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from agents.runs.transitions import arrows

_FOLDER = Path(__file__).parent / "sql"
FINGERPRINT = "f867e26a93e3209d68ce5e856b33d1a9f6bde42e61cf9b8f0660054a6385b5d8"


def statements() -> str:
    """The SQL as it is installed."""
    guards = (
        (_FOLDER / "guards.sql").read_text().replace("{arrows}", "{" + ",".join(arrows()) + "}")
    )
    return (_FOLDER / "functions.sql").read_text() + guards


def fingerprint() -> str:
    """SHA-256 of the SQL."""
    return hashlib.sha256(statements().encode()).hexdigest()


def install(apps: Any, schema_editor: Any) -> None:
    """A migration's operation: create or replace all functions and triggers."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(statements())
