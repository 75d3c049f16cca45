"""The audit as the JSON of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.api.forms import time

if TYPE_CHECKING:
    from heartbit_site.base.models import AuditEntry


def entry(row: AuditEntry) -> dict[str, Any]:
    """An entry of the audit."""
    return {
        "number": row.number,
        "at": time(row.at),
        "actor": row.actor,
        "via": row.via,
        "action": row.action,
        "target": row.target,
        "label": row.label,
        "details": row.details,
        "hash": row.hash,
    }
