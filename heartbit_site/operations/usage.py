"""Usage: what the workspace has used, against what it may use."""

from __future__ import annotations

from agents.reads.usage import usage_of
from agents.reads.usage_view import WorkspaceUsageOut
from heartbit_site.base.access import Access


def show_usage(access: Access) -> WorkspaceUsageOut:
    """Runs, tokens and money of today and of this month, the limits, and who used what."""
    return usage_of(access.workspace)
