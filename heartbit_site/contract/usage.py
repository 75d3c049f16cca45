"""Usage of the workspace against its limits."""

from __future__ import annotations

from agents.reads.views import WorkspaceUsageOut
from heartbit_site.contract.operation import READ_RUNS, Operation

SHOW_USAGE = Operation(
    "usage.show_usage", "GET /usage", WorkspaceUsageOut, "Get usage and quotas", READ_RUNS
)
