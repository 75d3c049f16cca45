"""People and keys as the JSON of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.api.forms import time

if TYPE_CHECKING:
    from collections.abc import Collection

    from heartbit_site.base.models import ApiKey, Membership, Workspace


def workspace(row: Workspace, scopes: Collection[str]) -> dict[str, Any]:
    """A workspace for somebody with these scopes."""
    return {"slug": row.slug, "name": row.name, "scopes": sorted(scopes)}


def member(row: Membership) -> dict[str, Any]:
    """A member, with their user loaded."""
    return {
        "username": row.user.get_username(),
        "name": row.user.get_full_name(),
        "role": row.role,
        "active": row.user.is_active,
        "since": time(row.created_at),
    }


def key(row: ApiKey) -> dict[str, Any]:
    """A key, with its user loaded."""
    state = "revoked" if row.revoked_at is not None else "expired" if row.expired else "active"
    return {
        "prefix": f"hb_{row.prefix}",
        "name": row.name,
        "scopes": row.scopes,
        "state": state,
        "made_by": row.user.get_username() if row.user is not None else None,
        "created_at": time(row.created_at),
        "expires_at": time(row.expires_at),
        "last_used_at": time(row.last_used_at),
    }
