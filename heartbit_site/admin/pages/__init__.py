"""Pages of the bottom app: workspaces, people, API keys and Beat's tables."""

from __future__ import annotations

from heartbit_site.admin.pages import (
    accounts,
    api_key,
    audit_entry,
    beat,
    member,
    tier,
    workspace,
)

__all__ = ["accounts", "api_key", "audit_entry", "beat", "member", "tier", "workspace"]
