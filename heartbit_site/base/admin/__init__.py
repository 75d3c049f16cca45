"""The admin of the base app: workspaces, accounts and beat's tables, all in one theme."""

from __future__ import annotations

from heartbit_site.base.admin import accounts, beat, workspace

__all__ = ["accounts", "beat", "workspace"]
