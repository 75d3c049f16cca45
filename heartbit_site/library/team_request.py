"""Creation of a library run: its agents' rows, its own row and its blackboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import transaction

from agents.actions.admit import admit
from agents.actions.publish_agent import publish_agent
from agents.actions.run_request import RunRequest, start_conversation
from agents.actions.runs import resume_run
from agents.actions.write_agents import MEMBERS
from agents.choices import Placement
from agents.errors import AgentsChangedError
from agents.models import Agent, BlackboardEntry
from agents.models import Conversation as Thread
from agents.output.payload import TaskPayload
from agents.querysets import find_any_run
from agents.runtime.execution.installed_executors import installed_executors
from heartbit_site.base import variables
from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.config.apply import ephemeral_agent
from heartbit_site.config.build import Configuration, build
from heartbit_site.config.rust_original import translate
from heartbit_site.library import team as teams
from heartbit_site.library.conversation import Conversation
from heartbit_site.library.ready_team import ReadyTeam
from heartbit_site.library.team import Team
from heartbit_site.library.tool_sources import ResolvedTool, register
from heartbit_site.workspaces import find_workspace
from tools.definitions.registry import definition_hash, registry

AUTHOR = "program"  # of the blackboard's first entries
STARTER = Actor("the program", "system")  # of its runs

DEFAULT_TEAM = tuple(
    teams.Member(
        {
            "name": member.name,
            "description": member.description,
            "system_prompt": member.system_prompt,
        },
        tuple(ResolvedTool(tool.name, None) for tool in member.tools),
    )
    for member in MEMBERS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRequest:
    """A task for a team.

    Attributes:
        task: The task.
        workspace: The workspace's slug.
        team: The agents.
        entries: The blackboard's first entries.
        thread: The conversation that the task belongs to, if any.
        model: ``provider:model`` of every agent; empty for each agent's own.
        by: The run's owner.
        configuration: Content of a file whose agents replace ``team``; None without one.
        files: Files of the run's folder, by path.
        payload: The task in its long form.
    """

    task: str
    workspace: str
    team: Team
    entries: Mapping[str, Any]
    thread: Conversation | None
    model: str = ""
    by: Actor = STARTER
    configuration: Configuration | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    payload: TaskPayload | None = None


def create_run(request: TeamRequest) -> UUID:
    """Create the run, which does not execute yet.

    Raises:
        ConfigurationError: The team, its tools or the workspace cannot be used.
        EmptyTaskError: The task is blank.
    """
    _register(request.team)
    is_alone = request.thread is None and not request.entries and request.configuration is None
    known = request.team.ready.get(_key(request)) if is_alone else None
    if known is not None and known.has_its_tools():
        with suppress(AgentsChangedError):  # in the same statement, to save a round trip
            return _start(request, known.agent, versions=known.versions)
    agent = _agent(request)
    if request.thread is not None:
        return _post(request, request.thread, agent)
    if not request.entries:
        return _start(request, agent)  # one statement, which is atomic by itself
    with transaction.atomic():
        run_id = _start(request, agent)
        _write(run_id, request.entries)
    return run_id


def find_unfinished(workspace: str, team: Team, run_id: UUID | str) -> UUID:
    """Return the root of a run whose process has ended, which this program continues.

    Raises:
        ConfigurationError: There is no such workspace, or another process executes the run.
        RunNotFoundError: The workspace does not have the run.
        RunStateError: The run has ended.
        ProgramToolsError: The program's definition of a tool has changed since the run began.
    """
    _register(team)
    resumption = resume_run(find_any_run(_workspace(workspace), run_id))
    if not resumption.takes_over:
        executor = f"process {resumption.executor}" if resumption.executor else "the fleet"
        raise ConfigurationError(
            f"Run {resumption.root_id} is executed by {executor}: "
            f"`heartbit resume {resumption.root_id}` watches it."
        )
    return resumption.root_id


def _register(team: Team) -> None:
    """Register the program's tools and the functions of its workflows in this process."""
    register(team.tools)
    for workflow in team.workflows.values():
        for executor in workflow.executors.values():
            installed_executors().add(executor)


def _start(request: TeamRequest, agent: Agent, *, versions: Sequence[int] | None = None) -> UUID:
    wanted = RunRequest(
        agent.workspace,
        request.task,
        agent=agent.name,
        origin=agent.origin,
        model=request.model,
        home=Placement.LOCAL,
        by=request.by,
        files=request.files,
        payload=request.payload,
        versions=versions,
    )
    return admit(wanted).run_id


def _agent(request: TeamRequest) -> Agent:
    """Return the agent that gets the task; its row and its team's rows are created if needed."""
    if request.configuration is not None:
        with transaction.atomic():
            return ephemeral_agent(_workspace(request.workspace), request.configuration)
    ready = request.team.ready.get(_key(request))
    if ready is None or not ready.still_holds():
        ready = request.team.ready[_key(request)] = _ready(request.workspace, request.team)
    return ready.agent


def _key(request: TeamRequest) -> tuple[str, str, str]:
    """Return what determines a team's rows in addition to the team itself."""
    return request.workspace, variables.PROVIDER.read(), variables.MODEL.read()


def _workspace(slug: str) -> Workspace:
    try:
        return find_workspace(slug)
    except NoWorkspaceError as error:
        raise ConfigurationError(str(error)) from error


def _ready(slug: str, team: Team) -> ReadyTeam:
    workspace = _workspace(slug)
    content = translate(team.content(DEFAULT_TEAM)).content
    teams.check(content)
    configuration = build(content, {})
    # A model named in the program's code takes precedence over the environment's.
    configuration = configuration.with_model(configuration.default_model)
    configuration = replace(configuration, entry=team.first or configuration.entry)
    agent = ephemeral_agent(workspace, configuration)
    everyone = _everyone(agent)
    if any(map(_is_stale, everyone)):
        everyone = _published_again(everyone)
    agent = next(one for one in everyone if one.pk == agent.pk)
    agent.workspace = workspace
    versions = [one.current_version for one in everyone if one.current_version is not None]
    names = {tool["name"] for version in versions for tool in version.snapshot["tools"]}
    return ReadyTeam(
        agent=agent,
        versions=[version.pk for version in versions],
        tools={name: registry.get(name) for name in names},
    )


def _everyone(agent: Agent) -> list[Agent]:
    found = Agent.objects.filter(workspace_id=agent.workspace_id, origin=agent.origin)
    return list(found.select_related("current_version").order_by("pk"))


def _is_stale(agent: Agent) -> bool:
    """Return True if a tool has changed since the agent's version: the program was edited."""
    version = agent.current_version
    if version is None:
        return True
    pinned = {tool["name"]: tool["hash"] for tool in version.snapshot["tools"]}
    return any(
        name in registry and definition_hash(registry[name]) != digest
        for name, digest in pinned.items()
    )


@transaction.atomic
def _published_again(everyone: list[Agent]) -> list[Agent]:
    for row in everyone:
        publish_agent(row, by=STARTER)
    return _everyone(everyone[0])


def _post(request: TeamRequest, conversation: Conversation, agent: Agent) -> UUID:
    with conversation.lock:
        thread = _thread(conversation, agent)
        conversation.id = thread.pk
    wanted = RunRequest(
        agent.workspace,
        request.task,
        conversation=thread,
        home=Placement.LOCAL,
        by=STARTER,
        files=request.files,
    )
    with transaction.atomic():
        run_id = admit(wanted).run_id
        _write(run_id, request.entries)
    return run_id


def _thread(conversation: Conversation, agent: Agent) -> Thread:
    """Return the conversation's row; a continued one gets the program's current agents."""
    if conversation.id is None:
        return start_conversation(
            agent.workspace, agent=agent.name, title=conversation.title, origin=agent.origin
        )
    thread = Thread.objects.filter(workspace=agent.workspace, pk=conversation.id).first()
    if thread is None:
        raise ConfigurationError(
            f"There is no conversation {conversation.id} in {agent.workspace.slug}."
        )
    if (thread.agent, thread.origin) != (agent.name, agent.origin):
        thread.agent, thread.origin = agent.name, agent.origin
        thread.save(update_fields=["agent", "origin"])
    return thread


def _write(run_id: UUID, entries: Mapping[str, Any]) -> None:
    BlackboardEntry.objects.bulk_create(
        BlackboardEntry(root_id=run_id, key=key, value=value, author=AUTHOR)
        for key, value in entries.items()
    )
