"""Statistics of workflows: runs, success, duration and cost, by workflow and by pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from agents.reads.views import WorkflowFiguresOut
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_named

DAYS: Final = 30
#: A run costs what it and all runs below it have cost; a row for each workflow and each pattern.
_STATISTICS: Final = """
    WITH RECURSIVE flow AS (
        SELECT r.id, r.status, r.finished_at - r.started_at AS duration, a.name,
               coalesce(v.snapshot ->> 'pattern', '') AS pattern
        FROM agents_run r
        JOIN agents_agentversion v ON v.id = r.version_id
        JOIN agents_agent a ON a.id = v.agent_id
        WHERE r.workspace_id = %(workspace)s AND r.kind = 'workflow' AND a.origin = ''
          AND r.created_at > now() - make_interval(days => %(days)s)
    ), below AS (
        SELECT id AS flow_id, id FROM flow
        UNION ALL
        SELECT b.flow_id, r.id FROM below b JOIN agents_run r ON r.parent_id = b.id
    ), spent AS (
        SELECT b.flow_id, sum(u.cost_usd) AS cost_usd,
               count(*) FILTER (WHERE u.cost_usd IS NULL) AS unpriced
        FROM below b JOIN base_usageentry u ON u.run_id = b.id GROUP BY b.flow_id
    )
    SELECT f.name, f.pattern, count(*) AS runs,
           count(*) FILTER (WHERE f.status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE f.status IN ('failed', 'quarantined')) AS failed,
           extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY f.duration))::float
               AS median_seconds,
           coalesce(sum(s.unpriced), 0) AS unpriced, coalesce(sum(s.cost_usd), 0) AS cost_usd
    FROM flow f LEFT JOIN spent s ON s.flow_id = f.id
    GROUP BY GROUPING SETS ((f.name), (f.pattern))
    ORDER BY f.name, f.pattern
"""
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
    """Return the statistics of the runs that began in the last days, also of nested workflows."""
    found = WorkflowStatistics()
    for row in fetch_named(_STATISTICS, {"workspace": workspace.pk, "days": days}):
        name, pattern, unpriced = row.pop("name"), row.pop("pattern"), row.pop("unpriced")
        ended = row["succeeded"] + row["failed"]
        cost: Decimal | None = None if unpriced else row["cost_usd"]
        rate = row["succeeded"] / ended if ended else None
        figures = WorkflowFiguresOut(**{**row, "success_rate": rate, "cost_usd": cost})
        if name is not None:
            found.workflows[name] = figures
        elif pattern:  # empty: built from no pattern
            found.patterns[pattern] = figures
    return found
