"""Delete an agent: its name is free, and its runs and versions stay.

The row keeps its versions, which runs are pinned to, under an origin of its own, so that no list
and no new run finds it (as agents of files and programs, see ``Agent.origin``). A run that is
accepted in the same instant is as one of a stopped agent: it stays queued until it is cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import transaction

from agents.actions.decide_call import revoke_grants
from agents.actions.fleet import set_agent_state
from agents.actions.save_agent import lock_workspace
from agents.choices import LIVE
from agents.models import Agent, Channel, Conversation, Run
from agents.models.draft import AgentDraft
from agents.reads.agents import find_editable
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require

#: How the origin of a deleted agent begins; its row's number follows, in hex.
DELETED: Final = "deleted-"
_MOST_NAMED = 5


class AgentInUseError(ConflictError):
    """Runs, schedules, channels or other agents need the agent."""


@dataclass(frozen=True, slots=True)
class AgentUses:
    """Effects of a deletion, and reasons that refuse it.

    Attributes:
        agent: The agent's name.
        live_runs: Runs that have not ended; they refuse it.
        teams: Agents that have it in their team; they refuse it.
        schedules: Its schedules; they refuse it.
        channels: Channels whose messages it answers; they refuse it.
        runs: Runs that stay, with its versions.
        conversations: Conversations that stay, and get no answers until an agent has the name.
        budgets: Budgets that are deleted with it.
        grants: Standing permissions that are revoked with it.
    """

    agent: str
    live_runs: int
    teams: list[str]
    schedules: list[str]
    channels: list[str]
    runs: int
    conversations: int
    budgets: int
    grants: int

    @property
    def refusal(self) -> str:
        """Sentence on what refuses the deletion; empty: nothing does."""
        parts = [f"{self.live_runs} live runs"] if self.live_runs else []
        for noun in ("teams", "schedules", "channels"):
            names = getattr(self, noun)
            shown = ", ".join(names[:_MOST_NAMED])
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            parts += [f"the {noun} {shown}{more}"] if names else []
        if not parts:
            return ""
        return (
            f"The agent {self.agent} is in use by {'; '.join(parts)}: end, remove or change them "
            "first, or stop the agent instead."
        )


def uses_of(agent: Agent) -> AgentUses:
    """Return what a deletion of an agent would touch."""
    runs = Run.objects.filter(version__agent=agent)
    named = {"workspace": agent.workspace_id, "agent": agent.name}
    return AgentUses(
        agent=agent.name,
        live_runs=runs.filter(status__in=LIVE).count(),
        teams=_names(agent.orchestrators.filter(origin="")),
        schedules=_names(agent.schedules.all()),
        channels=_names(Channel.objects.filter(**named)),
        runs=runs.count(),
        conversations=Conversation.objects.filter(**named, origin="").count(),
        budgets=agent.budgets.count(),
        grants=agent.grants.filter(revoked_at=None).count(),
    )


def _names(rows: object) -> list[str]:
    names: list[str] = list(rows.order_by("name").values_list("name", flat=True))  # type: ignore[attr-defined]
    return names


@transaction.atomic
def remove_agent(workspace: Workspace, name: str, *, by: Actor) -> AgentUses:
    """Delete an agent that nothing needs; its runs, versions and conversations stay.

    Args:
        workspace: The agent's workspace.
        name: The agent's name, which is free afterwards.
        by: The actor, for the audit.

    Raises:
        AgentNotFoundError: There is no such agent.
        AgentInUseError: It has live runs, or a team, a schedule or a channel needs it.
        ForbiddenError: The actor may not change agents.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    row = Agent.objects.select_for_update(of=("self",)).get(
        pk=find_editable(lock_workspace(workspace), name).pk
    )
    set_agent_state(row, "stop")  # from here on no run of it is accepted
    uses = uses_of(row)
    if uses.refusal:
        raise AgentInUseError(uses.refusal)
    row.budgets.all().delete()
    AgentDraft.objects.filter(agent=row).delete()
    Agent.objects.filter(pk=row.pk).update(origin=f"{DELETED}{row.pk:x}")
    # The author may revoke these: they end with what they are for, not because somebody ends them.
    revoke_grants(row.grants.filter(revoked_at=None), by=Actor(by.name, by.via, by.user_id))
    details = {"runs_kept": uses.runs, "budgets": uses.budgets, "grants": uses.grants}
    record_on(by, "agent.delete", row, details=details)
    return uses
