"""Usage of the workspace against its limits."""

from __future__ import annotations

from agents.reads.usage import usage_of
from agents.reads.views import WorkspaceUsageOut
from heartbit_site.base.access import Access


def show_usage(access: Access) -> WorkspaceUsageOut:
    """Return runs, tokens and money of today and this month, the limits, and the use by agent."""
    return usage_of(access.workspace)
