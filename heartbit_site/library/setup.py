"""Choice of a team: its agents, their models and tools, callbacks, blackboard and memory."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel

from agents.context import strategy as context_strategy
from agents.definitions import validators
from agents.llm.program_models import register as register_model
from agents.llm.protocol import ChatModel
from agents.output.check import check_response_schema
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library.approvals import Ask, Callbacks
from heartbit_site.library.callback_steps import CallbackSteps, checked_callback
from heartbit_site.library.memories import Memories
from heartbit_site.library.team import Member, Team, check_every, check_member, check_provider
from heartbit_site.library.tool_sources import ResolvedTool, Tool, resolve_tools
from memory.providers.protocol import MemoryProvider

if TYPE_CHECKING:
    from agents.workflows.builder.workflow import Workflow

_KEY_LENGTH = 200
_MODELS = {"model", "strong_model", "extraction_model"}
#: A task; data is the input of a workflow.
Task = str | Mapping[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class Setup(CallbackSteps):
    """Choice of a team.

    Each step returns a new builder, and refuses unusable values with a ``ConfigurationError``.

    Attributes:
        workspace: The slug of the workspace that the runs belong to.
        team: The agents.
        entries: The blackboard's first entries.
        answer_type: The pydantic class of a structured answer.
        board: The program's own blackboard; None without one.
        memories: The program's own memory; None without one.
    """

    workspace: str = "default"
    team: Team = field(default_factory=Team)
    entries: Mapping[str, Any] = field(default_factory=dict)
    answer_type: type[BaseModel] | None = None
    board: MutableMapping[str, Any] | None = None
    memories: Memories | None = None

    def provider(self, model: str | ChatModel) -> Self:
        """Set the model of agents that name none.

        Args:
            model: ``provider:model``, or a provider alone for its default model. Without this
                step the environment decides, as for the command line. Or a ``ChatModel`` of the
                program, which is asked in this process.
        """
        if not isinstance(model, str):
            return self._with_every(model=register_model(model))
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
                ``temperature``, ``approval`` and so on. A model may be a ``ChatModel`` object, and
                ``mcp_servers`` a list of URLs, whose tools the agent gets.
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
        agents become each agent's own. Callbacks, the blackboard and a memory object stay here.
        """
        agent = replace(self, team=self.team.as_agent())
        return replace(agent, callbacks=Callbacks(), entries={}, board=None, memories=None)

    def members(self, *agents: Setup) -> Self:
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

    def mcp(self, *urls: str) -> Self:
        """Give every agent the tools of MCP servers.

        Args:
            urls: Their addresses. A server that the workspace does not have is added to it by the
                first run, under a name made of its host and port.
        """
        known = self.team.every.get("mcp_servers", [])
        table = {"mcp_servers": list(dict.fromkeys([*known, *urls]))}
        check_every(table)
        return self._with_every(**table)

    def memory(
        self, provider: MemoryProvider | None = None, *, tokens: int = 500, extract: bool = True
    ) -> Self:
        """Let the agents remember across runs.

        Args:
            provider: An object of the program's, whose ``before`` is asked at the start of each
                agent's run, and whose ``after`` receives what was said, once the task has ended
                well. None: the installation's memory.
            tokens: Tokens of memories that a model is given at most.
            extract: Remember what is said; else only what is known already is used.
        """
        for name in ("before", "after") if provider is not None else ():
            if isinstance(provider, type) or not callable(getattr(provider, name, None)):
                raise ConfigurationError(f"{provider!r:.200} is no memory: it lacks `{name}`.")
        own = None if provider is None else Memories(provider, extract)
        builder = self._with_every(memory_tokens=tokens, extract_memories=extract and own is None)
        check_every({"memory_tokens": tokens})
        return replace(builder, memories=own)

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
        return builder._with_callbacks(ask=checked_callback(callback, "on_approval"))

    def blackboard(self, entries: Mapping[str, Any]) -> Self:
        """Set the team's shared entries before a run starts; tools read and change them.

        Args:
            entries: JSON values by name, at most 200 characters long. An object other than a dict
                that can be written (a ``MutableMapping``, such as an open ``shelve``) is the
                team's own blackboard: each run begins with what it holds then, and stores in it
                what was written.
        """
        if isinstance(entries, MutableMapping) and not isinstance(entries, dict):
            return replace(self, board=entries)
        if not isinstance(entries, Mapping):
            raise ConfigurationError(
                f"{entries!r:.200} is no blackboard: give a dict, or a MutableMapping."
            )
        check_entries(entries)
        return replace(self, entries={**self.entries, **entries})

    def _with_team(self, **changes: Any) -> Self:
        return replace(self, team=replace(self.team, **changes))

    def _with_every(self, **settings: Any) -> Self:
        return self._with_team(every={**self.team.every, **settings})


def check_entries(entries: Mapping[str, Any]) -> None:
    """Check names and values of a blackboard.

    Raises:
        ConfigurationError: A name is too long, or a value is no JSON.
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


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with lists in place of tuples, and names in place of models."""
    plain = {
        key: list(value) if isinstance(value, tuple) else value for key, value in options.items()
    }
    for key in _MODELS & plain.keys():
        plain[key] = _model_name(plain[key])
    if isinstance(models := plain.get("fallback_models"), list):
        plain["fallback_models"] = [_model_name(one) for one in models]
    return plain


def _model_name(model: Any) -> Any:
    return model if isinstance(model, str | None) else register_model(model)


def _member(table: dict[str, Any], tools: Sequence[Tool | ResolvedTool], *, leads: bool) -> Member:
    if isinstance(tools, str) or callable(tools):
        raise ConfigurationError("tools is a list: write tools=[...].")
    check_member(table, leads=leads)
    return Member(table, tuple(one for tool in tools for one in resolve_tools(tool)))
