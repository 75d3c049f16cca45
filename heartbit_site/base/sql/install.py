"""Put this folder's SQL into the database; a migration's operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def install_audit(apps: Any, schema_editor: Any) -> None:
    """Create the functions and triggers of the audit anew."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute((Path(__file__).parent / "audit.sql").read_text())
