"""Pages of the bottom app: workspaces, people, API keys and Beat's tables."""

from __future__ import annotations

from heartbit_site.admin.pages import api_key, audit_entry, of_packages, workspace

__all__ = ["api_key", "audit_entry", "of_packages", "workspace"]
