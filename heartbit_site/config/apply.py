"""Import of a configuration file into a workspace, or for one run.

Usage::

    changes = import_config(workspace, load(path), by=actor)    # agents of the admin
    agent = ephemeral_agent(workspace, load(path))      # for `run --config` only
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from agents.actions.create_default_team import MEMBERS, ORCHESTRATOR, PROMPT
from agents.actions.republish_orchestrators import publish_leaders
from agents.actions.write_agents import write_agents
from agents.definitions.spec import AgentSpec
from agents.models import Agent
from heartbit_site.base import audit, variables
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import Workspace
from heartbit_site.config.definition import Configuration
from heartbit_site.config.schedule_rows import ScheduleChanges, write_schedules
from heartbit_site.config.sections import OrchestratorSection

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Result of an import, by the agents' names, in the file's order.

    Attributes:
        created: New agents.
        updated: Agents with changes in their settings, tools or team.
        unchanged: Agents without changes.
        disabled: Agents that the file does not have; only when pruning.
        schedules: Changes of schedules.
        default_model: The workspace's new ``provider:model``; empty if it stayed.
        notes: Sentences about parts of the file that the import could not apply.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    schedules: ScheduleChanges = field(default_factory=ScheduleChanges)
    default_model: str = ""
    notes: tuple[str, ...] = ()


@transaction.atomic
def import_config(
    workspace: Workspace,
    configuration: Configuration,
    *,
    prune: bool = False,
    by: Actor = SYSTEM,
) -> Changes:
    """Create, update and publish the file's agents, then its schedules; others stay as they are.

    Args:
        workspace: The workspace to change.
        configuration: Content of the file.
        prune: Also stop the agents that the file does not name, and pause the schedules. They keep
            their rows, versions and runs.
        by: Author, for the audit.

    Raises:
        ConfigurationError: An agent cannot be published, or a schedule cannot be stored; nothing
            has changed.
    """
    locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    former, default_model = locked.default_model, ""
    if configuration.default_model not in ("", former):
        default_model = configuration.default_model
        Workspace.objects.filter(pk=locked.pk).update(default_model=default_model)
        workspace.default_model = default_model
    written = write_agents(locked, configuration.agents, origin="")
    disabled = _prune(locked, configuration) if prune else []
    led = publish_leaders([one.row for one in written.values()], by=by)
    notes = [
        f"{one.agent.name} was not published again: {one.problem}" for one in led if one.problem
    ]
    for one in written.values():
        one.record(by, source="import")
    for agent in disabled:
        _record(by, "agent.stop", agent)
    if default_model:
        _record(
            by, "workspace.change", workspace, default_model=audit.changed(former, default_model)
        )
    scheduled = write_schedules(locked, configuration.schedules, prune=prune, by=by)
    notes += [
        f"The schedule {name} was not created: its time is in the past." for name in scheduled.over
    ]
    notes += configuration.notes
    if configuration.base_urls:
        notes.append(
            "provider.base_url counts for `heartbit run --config` only: set it in the workspace's "
            "provider account as well."
        )
    return Changes(
        created=tuple(name for name, one in written.items() if one.is_new),
        updated=tuple(name for name, one in written.items() if one.changes),
        unchanged=tuple(name for name, one in written.items() if not (one.is_new or one.changes)),
        disabled=tuple(agent.name for agent in disabled),
        schedules=scheduled,
        default_model=default_model,
        notes=tuple(notes),
    )


@transaction.atomic
def ephemeral_agent(
    workspace: Workspace,
    configuration: Configuration,
    *,
    environ: Mapping[str, str] | None = None,
) -> Agent:
    """Return the entry agent of this file, with a team that belongs to the file alone.

    The same content gives the same rows; agents of the admin are neither read nor changed. A file
    without agents gives the default team. The file's model is for agents that name none, unless the
    environment chooses one (HEARTBIT_PROVIDER, HEARTBIT_MODEL).

    Args:
        workspace: The workspace of the run.
        configuration: Content of the file.
        environ: Environment to read; the process's own if None.

    Raises:
        ConfigurationError: An agent cannot be published.
    """
    chosen = variables.PROVIDER.read(environ) or variables.MODEL.read(environ)
    complete = configuration if configuration.agents else _default_team(configuration)
    complete = complete if chosen else complete.with_model(complete.default_model)
    origin = complete.digest()
    agents = Agent.objects.filter(workspace=workspace, origin=origin)
    if not agents.exists():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        write_agents(workspace, complete.agents, origin=origin)  # or finds another process's
    return agents.select_related("current_version").get(name=complete.entry)


def _default_team(configuration: Configuration) -> Configuration:
    orchestrator = AgentSpec(
        name=ORCHESTRATOR,
        description=OrchestratorSection.model_fields["description"].default,
        system_prompt=PROMPT,
        team=sorted(member.name for member in MEMBERS),
    )
    return Configuration(
        agents=(orchestrator, *MEMBERS),
        entry=ORCHESTRATOR,
        default_model=configuration.default_model,
    )


def _prune(workspace: Workspace, configuration: Configuration) -> list[Agent]:
    names = [agent.name for agent in configuration.agents]
    others = Agent.objects.filter(workspace=workspace, origin="", enabled=True)
    disabled = list(others.exclude(name__in=names).order_by("name").select_for_update())
    pruned = Agent.objects.filter(pk__in=[agent.pk for agent in disabled])
    pruned.update(enabled=False, updated_at=timezone.now())
    return disabled


def _record(by: Actor, action: str, row: Agent | Workspace, **details: Any) -> None:
    """Audit the import's change of a row."""
    audit.record(
        by,
        action,
        workspace=row if isinstance(row, Workspace) else row.workspace,
        target=f"{row._meta.model_name}:{row.pk}",
        label=str(row),
        details={**details, "source": "import"},
    )
