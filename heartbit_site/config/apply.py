"""Import of a configuration file into a workspace, or for one run.

Usage::

    changes = import_config(workspace, load(path), by=actor)    # agents of the admin
    agent = ephemeral_agent(workspace, load(path))      # for `run --config` only
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from django.db import transaction
from django.utils import timezone

from agents.actions.publish_agent import Led, publish_leaders
from agents.actions.write_agents import MEMBERS, ORCHESTRATOR, PROMPT, write_agents
from agents.definitions.spec import AgentSpec
from agents.models import Agent
from heartbit_site.base import audit, variables
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.config.build import Configuration
from heartbit_site.config.losses import find_losses
from heartbit_site.config.mcp_servers import (
    McpServerChanges,
    provide_servers,
    read_servers,
    write_servers,
)
from heartbit_site.config.sections import OrchestratorSection
from heartbit_site.config.workspace_parts import PartChanges, write_memory, write_parts
from scheduling.actions.schedules import change_schedule, create_schedule
from scheduling.models import Schedule
from scheduling.querysets import database_now
from scheduling.spec import SETTINGS, ScheduleSpec
from tools.actions.read_mcp_server import Reading

#: Scopes that an import takes: of agents, of schedules, of MCP servers and the default model.
SCOPES: Final = ("agents:write", "runs:write", "workspace:manage")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChanges:
    """Result of an import of schedules, by their names, in the file's order.

    Attributes:
        created: New schedules.
        updated: Schedules with changes.
        fields: Settings that changed, by the names of the updated schedules.
        unchanged: Schedules without changes.
        over: One-time schedules in the past, which were not created.
        paused: Schedules that the file does not have; only when pruning.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Result of an import, by the agents' names, in the file's order.

    Attributes:
        created: New agents.
        updated: Agents with changes in their settings, tools or team.
        republished: Agents without such changes that have a new version, because something they use
            has changed: definitions of tools, tools of a server, skills, team members.
        unchanged: Agents without changes, at the version that they had.
        fields: Settings that changed, by the names of the updated agents.
        disabled: Agents that the file does not have; only when pruning.
        schedules: Changes of schedules.
        mcp_servers: Changes of MCP servers.
        parts: Changes of knowledge bases, webhooks, channels and budgets, by their section.
        memory: Settings of memories that changed.
        default_model: The workspace's new ``provider:model``; empty if unchanged.
        losses: Sentences about settings that the import removed, because the file leaves them out.
        notes: Sentences about parts of the file that the import could not apply.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    republished: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()
    schedules: ScheduleChanges = field(default_factory=ScheduleChanges)
    mcp_servers: McpServerChanges = field(default_factory=McpServerChanges)
    parts: Mapping[str, PartChanges] = field(default_factory=dict)
    memory: tuple[str, ...] = ()
    default_model: str = ""
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def import_config(
    workspace: Workspace,
    configuration: Configuration,
    *,
    prune: bool = False,
    dry_run: bool = False,
    by: Actor = SYSTEM,
) -> Changes:
    """Create, update and publish the file's agents, then its schedules; others stay unchanged.

    MCP servers come first, since agents use their tools: servers that are new or have a new address
    are read before anything is written.

    Args:
        workspace: The workspace to change.
        configuration: Content of the file.
        prune: Also stop agents and pause schedules that the file does not name. They keep their
            rows, versions and runs.
        dry_run: Roll everything back at the end; the result is that of an import.
        by: Author, for the audit.

    Raises:
        ConfigurationError: An agent cannot be published, or a schedule or a server cannot be
            stored; nothing has changed.
    """
    readings = read_servers(workspace, configuration.mcp_servers)
    with transaction.atomic():
        for scope in SCOPES:
            require(by, scope, workspace_id=workspace.pk)
        former = workspace.default_model
        losses = find_losses(workspace, configuration)
        changes = _import(workspace, configuration, readings, prune=prune, by=by)
        if dry_run:
            transaction.set_rollback(True)
            workspace.default_model = former
    return replace(changes, losses=losses)


def _import(
    workspace: Workspace,
    configuration: Configuration,
    readings: Mapping[str, Reading],
    *,
    prune: bool,
    by: Actor,
) -> Changes:
    memory: tuple[str, ...] = ()
    if configuration.memory is not None:  # before the lock, as a new model is asked for a vector
        memory = write_memory(workspace, configuration.memory, by=by)
    locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    former, default_model = locked.default_model, ""
    if configuration.default_model not in ("", former):
        default_model = configuration.default_model
        Workspace.objects.filter(pk=locked.pk).update(default_model=default_model)
        workspace.default_model = default_model
    servers, unusable = write_servers(
        locked, configuration.mcp_servers, readings, prune=prune, by=by
    )
    parts, left = write_parts(
        locked, configuration.parts, ("knowledge_bases", "webhooks"), prune=prune, by=by
    )
    written = write_agents(locked, configuration.everyone, origin="", author=by.name)
    disabled = _prune(locked, configuration) if prune else []
    led = publish_leaders([one.row for one in written.values()], by=by)
    for one in written.values():
        one.record(by, source="import")
    for agent in disabled:
        audit.record_on(by, "agent.stop", agent, details={"source": "import"})
    if default_model:
        _record_model(workspace, former, by)
    scheduled = _write_schedules(locked, configuration.schedules, prune=prune, by=by)
    later, more = write_parts(
        locked, configuration.parts, ("channels", "budgets"), prune=prune, by=by
    )
    same = {name: one for name, one in written.items() if not (one.is_new or one.changes)}
    return Changes(
        created=tuple(name for name, one in written.items() if one.is_new),
        updated=tuple(name for name, one in written.items() if one.changes),
        republished=tuple(name for name, one in same.items() if one.made),
        unchanged=tuple(name for name, one in same.items() if not one.made),
        fields={name: tuple(one.changes) for name, one in written.items() if one.changes},
        disabled=tuple(agent.name for agent in disabled),
        schedules=scheduled,
        mcp_servers=servers,
        parts={**parts, **later},
        memory=memory,
        default_model=default_model,
        notes=tuple(_notes(configuration, led, scheduled, [*unusable, *left, *more])),
    )


def _record_model(workspace: Workspace, former: str, by: Actor) -> None:
    change = audit.changed(former, workspace.default_model)
    audit.record(
        by,
        "workspace.change",
        workspace=workspace,
        target=f"workspace:{workspace.pk}",
        label=str(workspace),
        details={"default_model": change, "source": "import"},
    )


def _notes(
    configuration: Configuration,
    led: Iterable[Led],
    scheduled: ScheduleChanges,
    unusable: Iterable[str],
) -> Iterator[str]:
    """Yield sentences about what the import could not apply, and those of the file."""
    for one in led:
        if one.problem:
            yield f"{one.agent.name} was not republished: {one.problem}"
    for name in scheduled.over:
        yield f"The schedule {name} was not created: its time is in the past."
    yield from unusable
    yield from configuration.notes
    if configuration.base_urls:
        yield (
            "provider.base_url applies only to `heartbit run --config`: set it in the workspace's "
            "provider account as well."
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
        ConfigurationError: An agent cannot be published, or one of the file's MCP servers cannot be
            used here.
    """
    provide_servers(workspace, configuration.mcp_servers)
    chosen = variables.PROVIDER.read(environ) or variables.MODEL.read(environ)
    complete = configuration if configuration.entry else _default_team(configuration)
    complete = complete if chosen else complete.with_model(complete.default_model)
    origin = complete.digest()
    agents = Agent.objects.filter(workspace=workspace, origin=origin)
    if not agents.exists():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        write_agents(workspace, complete.everyone, origin=origin)  # or finds another process's
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
    names = [agent.name for agent in configuration.everyone]
    others = Agent.objects.filter(workspace=workspace, origin="", enabled=True)
    disabled = list(others.exclude(name__in=names).order_by("name").select_for_update())
    pruned = Agent.objects.filter(pk__in=[agent.pk for agent in disabled])
    pruned.update(enabled=False, updated_at=timezone.now())
    return disabled


def _write_schedules(
    workspace: Workspace, settings: Sequence[ScheduleSpec], *, prune: bool, by: Actor
) -> ScheduleChanges:
    """Create and update schedules; the caller holds the workspace's row lock.

    Args:
        workspace: The workspace to change.
        settings: The schedules; their agents exist already.
        prune: Also pause schedules of people that are not named.
        by: Author, for the audit.

    Raises:
        ConfigurationError: A schedule cannot be stored.
    """
    done: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": [], "over": []}
    fields = {}
    for setting in settings:
        try:
            result, changed = _write_schedule(workspace, setting, by)
        except HeartbitError as error:
            raise ConfigurationError(f"The schedule {setting.name!r}: {error}") from error
        done[result].append(setting.name)
        if changed:
            fields[setting.name] = changed
    paused = _pause_others(workspace, [setting.name for setting in settings], by) if prune else []
    return ScheduleChanges(
        **{name: tuple(names) for name, names in done.items()},
        fields=fields,
        paused=tuple(paused),
    )


def _write_schedule(
    workspace: Workspace, setting: ScheduleSpec, by: Actor
) -> tuple[str, tuple[str, ...]]:
    """Write one schedule; return the name of its list in ``ScheduleChanges``, and what changed."""
    rows = Schedule.objects.filter(workspace=workspace, name=setting.name)
    row = rows.select_related("agent").first()
    if row is None and _is_over(setting):
        return "over", ()
    unsaid = {"begins_at"} if setting.begins_at is None else set()  # now, or the stored time
    if row is None:
        create_schedule(workspace, setting.model_dump(exclude=unsaid), by=by)
        return "created", ()
    if "enabled" not in setting.model_fields_set:
        unsaid.add("enabled")  # a paused schedule stays paused
    written = change_schedule(row, setting.model_dump(exclude=unsaid), by=by)
    changed = tuple(audit.changes(row, written, ("agent", *SETTINGS)))
    return "updated" if changed else "unchanged", changed


def _is_over(setting: ScheduleSpec) -> bool:
    return setting.at is not None and setting.at <= database_now() and setting.enabled


def _pause_others(workspace: Workspace, names: Sequence[str], by: Actor) -> list[str]:
    """Pause the schedules that are not named, except those that agents created for themselves."""
    rows = Schedule.objects.filter(
        workspace=workspace, enabled=True, created_by_run_id__isnull=True
    )
    others = list(rows.exclude(name__in=names).order_by("name"))
    for row in others:
        change_schedule(row, {"enabled": False}, by=by)
    return [row.name for row in others]
