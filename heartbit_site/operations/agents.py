"""Agents: definition, activity and figures, start and stop, and their versions."""

from __future__ import annotations

from typing import Annotated

from django.db import transaction
from django.db.models import QuerySet
from pydantic import Field, JsonValue

from agents.actions import remove_agent as removing
from agents.actions import save_agent as saving
from agents.actions.fleet import Switch, set_agent_state
from agents.actions.rollback_agent import rollback_agent
from agents.definitions.snapshot_diff import compare
from agents.definitions.templates import TEMPLATES
from agents.errors import AgentNotFoundError
from agents.models import Agent
from agents.reads.agent_status import AgentOverview, agents_with_metrics, status_of, statuses
from agents.reads.agents import find_editable, find_version, pair, spec_of, with_runs
from agents.reads.views import AgentStatusOut
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record_on
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.agents import (
    AgentChangeIn,
    AgentDetailOut,
    AgentIn,
    AgentOut,
    AgentsOut,
    AgentStatusesOut,
    AgentUsesOut,
    DiffOut,
    RollbackIn,
    RolledBackOut,
    TemplateOut,
    TemplatesOut,
    VersionDetailOut,
    VersionOut,
    VersionsOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.operation import Answered
from heartbit_site.operations.paging import page, page_of
from tools.texts.near_names import closest

#: Operations that list the definitions of a kind; empty: of all kinds.
_LISTS = {"": Remedy("agents.list_agents"), "workflow": Remedy("workflows.list_workflows")}


def list_agents(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> AgentsOut:
    """Return the workspace's published agents by name."""
    found, following = list_published(access.workspace, cursor, limit)
    return AgentsOut(agents=[AgentOut.of(overview) for overview in found], next_cursor=following)


def create_agent(
    access: Access, body: AgentIn, idempotency_key: Word | None = None
) -> Answered[AgentDetailOut]:
    """Create and publish an agent. 200 instead of 201 if the idempotency key was used before.

    The same key with the same name creates one agent, however often it is sent.
    """
    written = saving.create_agent(
        access.workspace, body, by=actor_of(access), key=idempotency_key or None
    )
    return Answered(201 if written.is_new else 200, _find(access.workspace, written.row.name))


def list_agent_templates(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> TemplatesOut:
    """Return the templates for new agents, by name, with the settings that POST takes."""
    found, following = page_of(TEMPLATES, str, cursor, limit)
    return TemplatesOut(templates=[*map(TemplateOut.of, found)], next_cursor=following)


def show_agent(access: Access, name: Name) -> AgentDetailOut:
    """Return an agent with its activity and its editable settings."""
    return _find(access.workspace, name)


def change_agent(access: Access, name: Name, body: AgentChangeIn) -> AgentDetailOut:
    """Change the given settings and publish the agent: new runs use them.

    `version` is the version that you have read: 409 if it is no longer the current one.
    """
    given = body.model_fields_set - {"version"}
    written = saving.change_agent(
        access.workspace, name, body, given, by=actor_of(access), version=body.version
    )
    return _find(access.workspace, written.row.name)


def show_agent_uses(access: Access, name: Name) -> AgentUsesOut:
    """Return what the deletion of the agent, or workflow, would touch, and what refuses it now."""
    return AgentUsesOut.of(removing.uses_of(find_editable(access.workspace, name)))


def remove_agent(access: Access, name: Name) -> None:
    """Delete an agent or a workflow: its name is free, and its runs and versions stay.

    409 while it has live runs, or while a team, a schedule or a channel needs it; `GET
    /agents/{name}/uses` names them, and says what is deleted with it.
    """
    removing.remove_agent(access.workspace, name, by=actor_of(access))


def list_published(
    workspace: Workspace, cursor: str | None, limit: int, kind: str = ""
) -> tuple[list[AgentOverview], str | None]:
    """Return a page of the definitions that can have runs, by name, and the next cursor."""
    rows, following = page(_published(workspace, kind), "name", cursor, limit)
    found = agents_with_metrics(workspace, names=[row.name for row in rows])
    return [one for one in found if one.agent.current_version is not None], following


def find_published(workspace: Workspace, name: str, kind: str = "") -> AgentOverview:
    """Return a definition that can have runs.

    Raises:
        AgentNotFoundError: None has that name; the error names a similar one, or the list.
    """
    for overview in agents_with_metrics(workspace, names=[name]):
        if overview.agent.current_version is not None and kind in ("", overview.agent.kind):
            return overview
    near = closest(name, list(_published(workspace, kind).values_list("name", flat=True)))
    hint = f": did you mean {near[0]}?" if near else "."
    remedy = None if near else _LISTS[kind]
    raise AgentNotFoundError(f"There is no {kind or 'agent'} named {name!r}{hint}", remedy=remedy)


def settings_of(agent: Agent) -> dict[str, JsonValue]:
    """Return the editable settings: a request with them changes nothing."""
    return spec_of(agent).model_dump(mode="json")


def _published(workspace: Workspace, kind: str = "") -> QuerySet[Agent]:
    """Return the editable definitions that can have runs, stopped ones included."""
    found = Agent.objects.filter(workspace=workspace, origin="", current_version__isnull=False)
    return found.filter(kind=kind) if kind else found


def _find(workspace: Workspace, name: str) -> AgentDetailOut:
    overview = find_published(workspace, name)
    return AgentDetailOut.of(overview, definition=settings_of(overview.agent))


def list_agent_statuses(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> AgentStatusesOut:
    """Return the activity of every agent, by name, unpublished ones included."""
    agents = Agent.objects.filter(workspace=access.workspace, origin="")
    rows, following = page(agents, "name", cursor, limit)
    found = statuses(access.workspace, names=[row.name for row in rows])
    return AgentStatusesOut(agents=found, next_cursor=following)


def show_agent_status(access: Access, name: Name) -> AgentStatusOut:
    """Return its state, uptime, running runs, tools and queue."""
    return status_of(access.workspace, name)


def start_agent(access: Access, name: Name) -> AgentStatusOut:
    """Start the agent: it accepts runs again, and its runs resume."""
    return _switch(access, name, "start")


def stop_agent(access: Access, name: Name) -> AgentStatusOut:
    """Stop the agent: it accepts no runs, and running ones are requeued; nothing is lost."""
    return _switch(access, name, "stop")


def restart_agent(access: Access, name: Name) -> AgentStatusOut:
    """Requeue the agent's running runs, so that they are claimed again; start a stopped agent."""
    return _switch(access, name, "restart")


@transaction.atomic
def _switch(access: Access, name: str, to: Switch) -> AgentStatusOut:
    agent = find_editable(access.workspace, name)
    if set_agent_state(agent, to):
        record_on(actor_of(access), f"agent.{to}", agent)
    return show_agent_status(access, name)


Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Older = Annotated[
    Number | None, Field(description="Older version; by default the one before the newer.")
]
Newer = Annotated[Number | None, Field(description="Newer version; by default the current one.")]


def list_versions(
    access: Access, name: Name, *, cursor: Cursor = None, limit: Limit = USUAL
) -> VersionsOut:
    """Return the published versions of an agent, the newest first."""
    agent = find_editable(access.workspace, name)
    rows, following = page(agent.versions.all(), "-number", cursor, limit)
    found = [
        VersionOut.of(version, current=version.pk == agent.current_version_id, runs=runs)
        for version, runs in with_runs(rows)
    ]
    return VersionsOut(agent=agent.name, versions=found, next_cursor=following)


def compare_versions(
    access: Access, name: Name, *, older: Older = None, newer: Newer = None
) -> DiffOut:
    """Return the differences between two versions, by default to the current one."""
    agent = find_editable(access.workspace, name)
    first, second = pair(agent, older, newer)
    found = compare(first.snapshot, second.snapshot)
    return DiffOut.of(
        found, agent=agent.name, older=first.number, newer=second.number, changed=bool(found)
    )


def show_version(access: Access, name: Name, number: Number) -> VersionDetailOut:
    """Return a version with its content."""
    agent = find_editable(access.workspace, name)
    found = find_version(agent, number)
    return VersionDetailOut.of(
        found,
        agent=agent.name,
        current=found.pk == agent.current_version_id,
        runs=found.runs.count(),
    )


def roll_back(access: Access, name: Name, number: Number, body: RollbackIn) -> RolledBackOut:
    """Make an earlier version of the agent the current one; runs keep their version."""
    agent = find_editable(access.workspace, name)
    done = rollback_agent(agent, number, by=actor_of(access), anyway=body.force)
    return RolledBackOut.of(done, agent=agent.name, version=done.version.number)
