"""The admin of the base app: workspaces, people, API keys and Beat's tables, all in one theme."""

from __future__ import annotations

import django_stubs_ext

# Before the first admin class says of which model it is: `ModelAdmin[Agent]`.
django_stubs_ext.monkeypatch()

from heartbit_site.base.admin import (  # noqa: E402
    accounts,
    api_key,
    audit_entry,
    beat,
    member,
    tier,
    workspace,
)

__all__ = ["accounts", "api_key", "audit_entry", "beat", "member", "tier", "workspace"]
