"""Statistics of workflows: runs, success, duration and cost, by workflow and by pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Final

from django.utils import timezone

from agents.reads.durations import percentile
from agents.reads.figures import over_figures, read_figures
from agents.reads.views import WorkflowFiguresOut
from heartbit_site.base.models import Workspace

DAYS: Final = 30
#: A row for each workflow and each pattern.
_STATISTICS: Final = over_figures("""
    SELECT a.name, coalesce(v.snapshot ->> 'pattern', '') AS pattern,
           sum(f.runs)::bigint AS runs, sum(f.succeeded)::bigint AS succeeded,
           sum(f.failed)::bigint AS failed, {lasted} AS lasted,
           sum(f.tree_unpriced)::bigint AS unpriced, sum(f.tree_cost_usd) AS cost_usd
    FROM figures f
    JOIN agents_agentversion v ON v.id = f.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    WHERE a.kind = 'workflow' AND a.origin = ''
    GROUP BY GROUPING SETS ((a.name), (coalesce(v.snapshot ->> 'pattern', '')))
    ORDER BY 1, 2
""")
_NONE: Final = WorkflowFiguresOut(
    runs=0, succeeded=0, failed=0, success_rate=None, median_seconds=None, cost_usd="0"
)


@dataclass(frozen=True, slots=True)
class WorkflowStatistics:
    """Figures of a workspace's workflows, by name, and of their patterns."""

    workflows: dict[str, WorkflowFiguresOut] = field(default_factory=dict)
    patterns: dict[str, WorkflowFiguresOut] = field(default_factory=dict)

    def of(self, name: str) -> WorkflowFiguresOut:
        """Return the figures of a workflow, which may have no runs."""
        return self.workflows.get(name, _NONE)


def read_statistics(workspace: Workspace, *, days: int = DAYS) -> WorkflowStatistics:
    """Return the statistics of the last days, also of nested workflows.

    A run counts when it is accepted; its success, duration and cost when its tree ends.
    """
    found, now = WorkflowStatistics(), timezone.now()
    since = now - timedelta(days=days)
    for row in read_figures(_STATISTICS, workspace.pk, since=since, now=now, trees=True):
        name, pattern, unpriced = row.pop("name"), row.pop("pattern"), row.pop("unpriced")
        ended = row["succeeded"] + row["failed"]
        cost: Decimal | None = None if unpriced else row["cost_usd"]
        figures = WorkflowFiguresOut(
            runs=row["runs"],
            succeeded=row["succeeded"],
            failed=row["failed"],
            success_rate=row["succeeded"] / ended if ended else None,
            median_seconds=percentile(row["lasted"], 0.5),
            cost_usd=cost,
        )
        if name is not None:
            found.workflows[name] = figures
        elif pattern:  # empty: built from no pattern
            found.patterns[pattern] = figures
    return found
