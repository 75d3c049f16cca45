"""Runs, failures, cost and latency of the last days, by agent or by version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, Literal
from uuid import UUID

from django.utils import timezone

from agents.models import Agent, Run
from agents.reads.durations import percentile
from agents.reads.figures import over_figures, read_figures
from agents.reads.outcome import cost_of
from heartbit_site.base.models import Workspace

DAYS: Final = 14

_TRAFFIC: Final = """
    SELECT {key} AS key, sum(f.runs)::bigint AS runs, sum(f.failed)::bigint AS failures,
           {lasted} AS lasted, sum(f.cost_usd) AS cost_usd,
           sum(f.unpriced)::bigint AS unpriced,
           (array_agg(f.last_run ORDER BY f.last_run DESC NULLS LAST))[1] AS last_run
    FROM figures f
    JOIN agents_agentversion v ON v.id = f.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    WHERE a.origin = '' AND (%(agent)s::bigint IS NULL OR a.id = %(agent)s)
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
    now = timezone.now()
    query = over_figures(_TRAFFIC.replace("{key}", key))
    rows = read_figures(query, workspace, since=now - timedelta(days=DAYS), now=now, agent=agent)
    last = {row["last_run"] for row in rows}
    public = Run.objects.filter(pk__in=last, private_to=None)
    statuses = dict(public.values_list("pk", "status"))
    return {
        row["key"]: Traffic(
            runs=row["runs"],
            failures=row["failures"],
            seconds=percentile(row["lasted"], 0.5),
            cost_usd=cost_of(row),
            # A run that was deleted since, or is private, is no run to look at.
            last_run=row["last_run"] if row["last_run"] in statuses else None,
            last_status=statuses.get(row["last_run"], ""),
        )
        for row in rows
    }
