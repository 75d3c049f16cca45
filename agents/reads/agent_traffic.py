"""Runs, failures, cost and latency of the last days, by agent or by version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID

from django.utils import timezone

from agents.models import Agent
from agents.reads.outcome import cost_of
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_named

DAYS: Final = 14

_TRAFFIC = """
    SELECT {key} AS key, count(*) AS runs,
           count(*) FILTER (WHERE r.status IN ('failed', 'quarantined')) AS failures,
           percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM r.finished_at - r.started_at)) AS seconds,
           coalesce(sum(u.cost_usd), 0) AS cost_usd, coalesce(sum(u.unpriced), 0) AS unpriced,
           (array_agg(r.id ORDER BY r.id DESC))[1] AS last_run,
           (array_agg(r.status ORDER BY r.id DESC))[1] AS last_status
    FROM agents_run r
    JOIN agents_agentversion v ON v.id = r.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    LEFT JOIN (
        SELECT run_id, sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
        FROM base_usageentry WHERE workspace_id = %(workspace)s AND at >= %(since)s GROUP BY run_id
    ) u ON u.run_id = r.id
    WHERE r.workspace_id = %(workspace)s AND r.created_at >= %(since)s AND a.origin = ''
          AND (%(agent)s::bigint IS NULL OR a.id = %(agent)s)
    GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Runs of an agent or a version in the last ``DAYS`` days; tests of drafts do not count.

    Attributes:
        seconds: Median time from the first claim to the end; None: no run has ended.
        cost_usd: Cost of its own model calls; None: a price is unknown.
        last_run: The newest run; None: there was none.
        last_status: Status of that run.
    """

    runs: int = 0
    failures: int = 0
    seconds: float | None = None
    cost_usd: Decimal | None = Decimal(0)
    last_run: UUID | None = None
    last_status: str = ""


def traffic_of_agents(workspace: Workspace) -> dict[int, Traffic]:
    """Return the traffic of a workspace's agents, by the agent's key; idle ones are left out."""
    return _traffic("a.id", workspace.pk, None)


def traffic_of_versions(agent: Agent) -> dict[int, Traffic]:
    """Return the traffic of an agent's versions, by the version's key; idle ones are left out."""
    return _traffic("v.id", agent.workspace_id, agent.pk)


def _traffic(key: Literal["a.id", "v.id"], workspace: int, agent: int | None) -> dict[int, Traffic]:
    since = timezone.now() - timedelta(days=DAYS)
    values = {"workspace": workspace, "since": since, "agent": agent}
    rows: list[dict[str, Any]] = fetch_named(_TRAFFIC.format(key=key), values)
    return {
        row["key"]: Traffic(
            runs=row["runs"],
            failures=row["failures"],
            seconds=None if row["seconds"] is None else float(row["seconds"]),
            cost_usd=cost_of(row),
            last_run=row["last_run"],
            last_status=row["last_status"],
        )
        for row in rows
    }
