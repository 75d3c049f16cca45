"""``Heartbit``: choose agents, their tools and callbacks; then run a task."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel

from agents.context import strategy as context_strategy
from agents.definitions import validators
from agents.output.check import check_response_schema
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library import shared_host
from heartbit_site.library.approvals import Ask, Callbacks
from heartbit_site.library.blocking import block_on
from heartbit_site.library.conversation import Conversation, GivenFile, read_files
from heartbit_site.library.result import Result
from heartbit_site.library.stores import State, VectorCollection
from heartbit_site.library.team import Member, Team, check_member, check_provider
from heartbit_site.library.tool_sources import ResolvedTool, Tool, resolve_tools

if TYPE_CHECKING:
    from agents.workflows.builder.workflow import Workflow

_KEY_LENGTH = 200
#: A task; data is the input of a workflow.
Task = str | Mapping[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class Heartbit:
    """A team of agents that runs in this process.

    Each step returns a new builder, and refuses unusable values with a ``ConfigurationError``.

    Attributes:
        workspace: The slug of the workspace that the runs belong to.
        team: The agents.
        callbacks: The callbacks.
        entries: The blackboard's first entries.
        answer_type: The pydantic class of a structured answer.
    """

    workspace: str = "default"
    team: Team = field(default_factory=Team)
    callbacks: Callbacks = field(default_factory=Callbacks)
    entries: Mapping[str, Any] = field(default_factory=dict)
    answer_type: type[BaseModel] | None = None

    def provider(self, model: str) -> Self:
        """Set the model of agents that name none.

        Args:
            model: ``provider:model``, or a provider alone for its default model. Without this
                step the environment decides, as for the command line.
        """
        name, _, rest = model.partition(":")
        table = {"name": name, "model": rest}
        check_provider(table)
        return self._with_team(provider=table)

    def agent(
        self,
        name: str,
        prompt: str,
        *,
        tools: Sequence[Tool | ResolvedTool] = (),
        description: str = "",
        **options: Any,
    ) -> Self:
        """Add an agent.

        Args:
            name: Lower-case letters, digits, ``-`` and ``_``.
            prompt: The system prompt.
            tools: Functions, plain or marked with ``@tool`` or ``@orm_tool``, marked classes,
                names of installed tools, or ``bind(...)``.
            description: One sentence for the orchestrator.
            options: Any key of ``[[agents]]`` in ``heartbit.toml``: ``model``, ``max_turns``,
                ``temperature``, ``approval`` and so on.
        """
        table = {
            "name": name,
            "description": description,
            "system_prompt": prompt,
            **_plain(options),
        }
        if name in [member.table["name"] for member in self.team.members]:
            raise ConfigurationError(f"Agent {name!r} already exists: give each its own name.")
        member = _member(table, tools, leads=False)
        return self._with_team(members=(*self.team.members, member))

    def orchestrator(
        self,
        prompt: str | None = None,
        *,
        tools: Sequence[Tool | ResolvedTool] = (),
        **options: Any,
    ) -> Self:
        """Configure the agent that gets the task and delegates to the others.

        Two or more agents have one by default; this step gives it a prompt, tools or limits.

        Args:
            prompt: The system prompt; Heartbit's own if None.
            tools: As for ``agent``.
            options: As for ``agent``, and ``max_parallel``, ``delegation_timeout_seconds``.
        """
        table = _plain(options) if prompt is None else {"system_prompt": prompt, **_plain(options)}
        return self._with_team(lead=_member(table, tools, leads=True))

    def workflow(self, workflow: Workflow, *, leads: bool = False) -> Self:
        """Add a workflow.

        Args:
            workflow: Its nodes may name the builder's agents and its other workflows.
            leads: The workflow gets the task; else the orchestrator delegates to it. A workflow
                without agents beside it always gets it.
        """
        if workflow.name in [*self.team.workflows, *(m.table["name"] for m in self.team.members)]:
            raise ConfigurationError(f"{workflow.name!r} already exists: give each its own name.")
        if leads and self.team.entry:
            raise ConfigurationError(f"The workflow {self.team.entry!r} gets the task already.")
        _ = workflow.spec  # refuses one that is invalid
        entry = workflow.name if leads else self.team.entry
        workflows = {**self.team.workflows, workflow.name: workflow}
        return self._with_team(workflows=workflows, entry=entry)

    def as_agent(self) -> Self:
        """Return the only agent, or the workflow that gets the task, as an agent.

        Talk with it, or give it to ``members`` of a team. The provider and the settings of all
        agents become each agent's own. Callbacks and the blackboard's entries stay here.
        """
        agent = replace(self, team=self.team.as_agent())
        return replace(agent, callbacks=Callbacks(), entries={})

    def members(self, *agents: Heartbit) -> Self:
        """Add agents that have a builder of their own.

        Args:
            agents: Each with one agent, or a workflow that gets the task, whose own agents no
                orchestrator delegates to.
        """
        team = self.team
        for agent in agents:
            team = team.joined(agent.team.as_agent())
        return replace(self, team=team)

    def context(self, strategy: Mapping[str, Any]) -> Self:
        """Set the context strategy of agents without one of their own.

        Args:
            strategy: Such as ``{"type": "sliding_window", "max_tokens": 50_000}``.
        """
        context_strategy.parse(dict(strategy))
        return self._with_every(context_strategy=dict(strategy))

    def response_schema(self, schema: Mapping[str, Any] | type[BaseModel]) -> Self:
        """Set the schema of the final answer: ``Result.structured``.

        Args:
            schema: A JSON Schema, or a pydantic class, which makes the answer an instance of it.
        """
        answer_type: type[BaseModel] | None = None
        if isinstance(schema, type):
            if not issubclass(schema, BaseModel):
                raise ConfigurationError(
                    f"{schema.__name__} is not a response schema: give a JSON Schema or a "
                    "pydantic model."
                )
            answer_type, schema = schema, schema.model_json_schema()
        check_response_schema(schema)
        builder = self._with_team(response_schema=dict(schema))
        return replace(builder, answer_type=answer_type)

    def on_approval(
        self, callback: Ask, *, calls: Literal["effects", "always", "never"] = "effects"
    ) -> Self:
        """Let the program decide on tool calls that wait for a person.

        Args:
            callback: Called with one ``Approval`` at a time, sync or async. True or ``Approve()``
                lets the call run, ``Edit({...})`` runs it with other arguments, False or
                ``Deny("why")`` denies it. Answer a question, which has a ``form``, with
                ``Answer(value)``.
            calls: Calls that wait, for agents that have no ``approval`` of their own: those with
                an effect, all, or none.
        """
        if calls not in ("effects", "always", "never"):
            raise ConfigurationError(f'calls is {calls!r}: use "effects", "always" or "never".')
        builder = self._with_every(approval=calls)
        return builder._with_callbacks(ask=_callable(callback, "on_approval"))

    def on_text(
        self, callback: Callable[[str], Any], *, on_restart: Callable[[], Any] | None = None
    ) -> Self:
        """Stream the text of the agent that got the task.

        Args:
            callback: Called with each piece, sync or async.
            on_restart: Called when a model call is repeated: the text since the last tool call
                is discarded and streamed again from its beginning.
        """
        builder = self._with_callbacks(text=_callable(callback, "on_text"))
        if on_restart is None:
            return builder
        return builder._with_callbacks(restart=_callable(on_restart, "on_restart"))

    def on_event(self, callback: Callable[..., Any]) -> Self:
        """Deliver each journaled event, of sub-agents too.

        Args:
            callback: Called with each ``Event``, sync or async.
        """
        return self._with_callbacks(event=_callable(callback, "on_event"))

    def blackboard(self, entries: Mapping[str, Any]) -> Self:
        """Set the team's shared entries before a run starts; tools read and change them.

        Args:
            entries: JSON values by name, at most 200 characters long.
        """
        for key, value in entries.items():
            if not isinstance(key, str) or not 1 <= len(key) <= _KEY_LENGTH:
                raise ConfigurationError(
                    f"The blackboard's entry {key!r} needs a name of 1 to {_KEY_LENGTH} characters."
                )
            try:
                validators.storable_json(value)
            except (ValueError, TypeError) as error:
                raise ConfigurationError(f"The blackboard's entry {key!r} {error}.") from error
        return replace(self, entries={**self.entries, **entries})

    def run(self, task: Task, *, files: Mapping[str, GivenFile] | None = None) -> Result:
        """Run a task and wait for its end.

        Args:
            task: The task; the input of a workflow may be an object or a list.
            files: Files of the run's folder, by path: text, bytes, or the ``Path`` of a file or a
                folder on this machine.

        Raises:
            RefusedFilesError: A file cannot be read or is not accepted.
            ConfigurationError: It cannot be started, or an event loop runs here already.
            EmbeddedError: The database's server cannot be started.
        """
        return block_on("run", "arun", lambda: self.arun(task, files=files))

    async def arun(self, task: Task, *, files: Mapping[str, GivenFile] | None = None) -> Result:
        """Run a task; several may run concurrently. Cancelling this cancels the run.

        Args:
            task: The task.
            files: As for ``run``.

        Raises:
            RefusedFilesError: A file cannot be read or is not accepted.
            ConfigurationError: It cannot be started.
            EmbeddedError: The database's server cannot be started.
        """
        text = task if isinstance(task, str) else json.dumps(task, ensure_ascii=False)
        return await self._perform(text, None, files)

    def resume(self, run_id: UUID | str) -> Result:
        """Continue a run whose process ended before the run did, and wait for its end.

        Args:
            run_id: The run's id; it keeps its original agents, and uses the callbacks and tools of
                this builder.

        Raises:
            ConfigurationError: Another process executes it, or an event loop runs here already.
            RunNotFoundError: The workspace has no such run.
            RunStateError: The run has ended.
            ProgramToolsError: A tool has changed since the run began.
            EmbeddedError: The database's server cannot be started.
        """
        return block_on("resume", "aresume", lambda: self.aresume(run_id))

    async def aresume(self, run_id: UUID | str) -> Result:
        """Continue a run as ``resume`` does. Cancelling this cancels the run.

        Args:
            run_id: As for ``resume``.

        Raises:
            ConfigurationError: Another process executes it.
            RunNotFoundError: The workspace has no such run.
            RunStateError: The run has ended.
            ProgramToolsError: A tool has changed since the run began.
            EmbeddedError: The database's server cannot be started.
        """

        def start() -> UUID:
            from heartbit_site.library.team_request import (  # noqa: PLC0415  needs Django set up
                find_unfinished,
            )

            return find_unfinished(self.workspace, self.team, run_id)

        return await self._execute(start)

    def conversation(self, *, title: str = "", id: UUID | str | None = None) -> Conversation:
        """Return a conversation with the team, in which each message sees the earlier ones.

        Args:
            title: Name in lists.
            id: Continue this conversation.
        """
        return Conversation(self._perform, title=title, id=id, block_on=block_on)

    def state(self, *, agent: str = "", conversation: UUID | str | None = None) -> State:
        """Return the state store, whose values outlive runs.

        Args:
            agent: Use the entries that runs of this agent share.
            conversation: Use the entries that runs of this conversation share. With neither, those
                of the workspace.
        """
        return State(self.workspace, agent, conversation)

    def collection(self, name: str, *, dimensions: int | None = None) -> VectorCollection:
        """Return a vector collection, which is created if the workspace has none of this name.

        Args:
            name: Lower-case letters, digits, ``-`` and ``_``.
            dimensions: Length of the vectors that the program gives; None: the workspace's
                embedding model embeds texts.

        Raises:
            InvalidCollectionError: It cannot be created so.
        """
        return VectorCollection(self.workspace, name, dimensions)

    def close(self) -> None:
        """Stop the process's shared host, unless it is in use; the next run starts a new one."""
        shared_host.close()

    async def aclose(self) -> None:
        """Stop the shared host as ``close`` does, without blocking the loop."""
        await asyncio.to_thread(shared_host.close)

    def __enter__(self) -> Self:
        shared_host.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        shared_host.release()
        shared_host.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(shared_host.acquire)
        return self

    async def __aexit__(self, *_: object) -> None:
        shared_host.release()
        await self.aclose()

    async def _perform(
        self,
        task: str,
        thread: Conversation | None,
        files: Mapping[str, GivenFile] | None = None,
    ) -> Result:
        given = await asyncio.to_thread(read_files, files) if files else {}

        def start() -> UUID:
            from heartbit_site.library.team_request import (  # noqa: PLC0415  needs Django set up
                TeamRequest,
                create_run,
            )

            return create_run(
                TeamRequest(
                    task=task,
                    workspace=self.workspace,
                    team=self.team,
                    entries=self.entries,
                    thread=thread,
                    files=given,
                )
            )

        return await self._execute(start)

    async def _execute(self, start: Callable[[], UUID]) -> Result:
        """Execute the run that ``start`` creates or finds, on the shared host."""
        shared = shared_host.acquire_running()
        if shared is None:
            shared = await asyncio.to_thread(shared_host.acquire)
        try:
            # Models can be imported only after Django is set up.
            from heartbit_site.library.execution import execute  # noqa: PLC0415

            return await execute(shared, start, self.callbacks, self.answer_type)
        finally:
            shared_host.release()

    def _with_team(self, **changes: Any) -> Self:
        return replace(self, team=replace(self.team, **changes))

    def _with_callbacks(self, **changes: Any) -> Self:
        return replace(self, callbacks=replace(self.callbacks, **changes))

    def _with_every(self, **settings: Any) -> Self:
        return self._with_team(every={**self.team.every, **settings})


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with lists in place of tuples, which JSON does not have."""
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in options.items()
    }


def _member(table: dict[str, Any], tools: Sequence[Tool | ResolvedTool], *, leads: bool) -> Member:
    if isinstance(tools, str) or callable(tools):
        raise ConfigurationError("tools is a list: write tools=[...].")
    check_member(table, leads=leads)
    return Member(table, tuple(one for tool in tools for one in resolve_tools(tool)))


def _callable(callback: Any, step: str) -> Any:
    if not callable(callback) or inspect.isclass(callback):
        raise ConfigurationError(f"{step} needs a function, not {callback!r}.")
    return callback
