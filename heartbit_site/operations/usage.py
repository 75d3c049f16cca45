"""Usage: what the workspace has used, against what it may use."""

from __future__ import annotations

from agents.reads.usage import usage_of
from heartbit_site.base.access import Access
from heartbit_site.contract.usage import WorkspaceUsageOut


def show_usage(access: Access) -> WorkspaceUsageOut:
    """Runs, tokens and money of today and of this month, the limits, and who used what."""
    found = usage_of(access.workspace)
    runs, tokens, usd, at_once = found.gauges
    return WorkspaceUsageOut.of(
        found,
        runs_today=runs,
        tokens_this_month=tokens,
        usd_this_month=usd,
        runs_at_once=at_once,
    )
