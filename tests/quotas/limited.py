"""Workspaces with a tier, agents that nobody serves, and many runs at once."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.actions.write_agents import create_default_team
from agents.models import Agent, Run, RunCount
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import AuditEntry, Tier, Workspace

if TYPE_CHECKING:
    from uuid import UUID


def give_tier(workspace: Workspace, **limits: Any) -> Tier:
    """A tier of the workspace's own, with these limits and no others."""
    tier = Tier.objects.create(name=f"tier-{secrets.token_hex(6)}", **limits)
    workspace.tier = tier
    workspace.save(update_fields=["tier"])
    return tier


def new_workspace() -> Workspace:
    """Another one, with the default team."""
    slug = f"q-{secrets.token_hex(5)}"
    created = Workspace.objects.create(slug=slug, name=slug)
    create_default_team(created)
    return created


def park(workspace: Workspace, queue: str) -> None:
    """Send its agents' runs to a queue that no worker of the tests serves."""
    Agent.objects.filter(workspace=workspace).update(queue=queue)


def flood(workspace: Workspace, runs: int, *, agent: str = "writer", priority: int = 0) -> None:
    """Accept so many runs of the fleet in one statement; nobody is rung."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT heartbit_submit(run.id, %s, %s, 'x', 'fleet', %s, '', NULL)"
            " FROM unnest(%s::uuid[]) AS run (id)",
            [workspace.pk, agent, priority, [new_id() for _ in range(runs)]],
        )


def queued(workspace: Workspace) -> list[UUID]:
    """Its runs that wait for a worker, the oldest first."""
    rows = Run.objects.filter(workspace=workspace, status="queued")
    return list(rows.order_by("available_at", "pk").values_list("pk", flat=True))


def start(workspace: Workspace, runs: int = 1, **options: Any) -> list[UUID]:
    """So many more runs; all of the workspace's that wait."""
    flood(workspace, runs, **options)
    return queued(workspace)


def at_work(workspace: Workspace) -> int:
    """How many of its runs workers hold."""
    return Run.objects.filter(workspace=workspace, status="running").count()


def counted(workspace: Workspace, agent: Agent | None = None) -> int | None:
    """What was counted in the period of the count; None: nothing ever was."""
    rows = RunCount.objects.filter(workspace=workspace, agent=agent)
    return rows.values_list("runs", flat=True).first()


def told(workspace: Workspace) -> list[tuple[str, str]]:
    """What the audit says of its quotas: the action and what it was about."""
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="quota.")
    return list(entries.order_by("pk").values_list("action", "label"))
