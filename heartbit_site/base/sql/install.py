"""Installation of this folder's SQL, as the operation of a migration."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def install_audit(apps: Any, schema_editor: Any) -> None:
    """Create or replace the functions and triggers of the audit."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute((Path(__file__).parent / "audit.sql").read_text())
