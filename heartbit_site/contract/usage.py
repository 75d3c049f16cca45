"""Usage of the workspace against its limits."""

from __future__ import annotations

from agents.reads.views import WorkspaceUsageOut
from heartbit_site.contract.operation import READ_RUNS, Noun

NOUN = Noun("usage", read=READ_RUNS)

SHOW_USAGE = NOUN.get("show_usage", "/usage", WorkspaceUsageOut, "Get usage and quotas")
