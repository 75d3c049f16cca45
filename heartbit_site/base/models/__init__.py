"""Models of the base app; import them from this package."""

from __future__ import annotations

from heartbit_site.base.models.usage import UsageEntry
from heartbit_site.base.models.workspace import Workspace

__all__ = ["UsageEntry", "Workspace"]
