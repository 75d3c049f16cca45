"""The admin of the base app: workspaces, people, API keys and Beat's tables, all in one theme."""

from __future__ import annotations

from heartbit_site.base.admin import accounts, api_key, audit_entry, beat, member, tier, workspace

__all__ = ["accounts", "api_key", "audit_entry", "beat", "member", "tier", "workspace"]
