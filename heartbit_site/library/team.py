"""The builder's agents, as the tables of a ``heartbit.toml``.

So the same rules and error messages apply to an agent's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agents.definitions import validation_messages
from agents.definitions.validation_messages import Complaint, sentence_of
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config import consistency, rust_original
from heartbit_site.config.sections import (
    AgentSection,
    OrchestratorSection,
    ProviderSection,
)
from heartbit_site.library.tool_sources import ResolvedTool

if TYPE_CHECKING:
    from agents.workflows.builder.workflow import Workflow
    from heartbit_site.library.ready_team import ReadyTeam

Table = dict[str, Any]
OWN_STEPS: Final = {
    "team": "the orchestrator's team is every agent",
    "system_prompt_file": "read the file and give its text",
}


@dataclass(frozen=True, slots=True)
class Member:
    """An agent.

    Attributes:
        table: Its table, without the tools.
        tools: Its tools.
    """

    table: Mapping[str, Any]
    tools: tuple[ResolvedTool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Everything that determines which agents' rows a run needs.

    Attributes:
        provider: The provider's table; empty for the environment's provider.
        members: Every agent but the orchestrator.
        lead: The orchestrator, if it was named.
        every: Settings of all agents without their own.
        response_schema: Schema of the answer of the agent that gets the task.
        workflows: Its workflows, by name.
        entry: Name of the workflow that was chosen to get the task, or empty.
        inner: Names of agents and workflows that only workflows run.
        ready: Its agents' rows, once they were looked up (``team_request.create_run``).
    """

    provider: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    lead: Member | None = None
    every: Mapping[str, Any] = field(default_factory=dict)
    response_schema: Mapping[str, Any] | None = None
    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    entry: str = ""
    inner: frozenset[str] = frozenset()
    ready: dict[tuple[str, str, str], ReadyTeam] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    @property
    def tools(self) -> tuple[ResolvedTool, ...]:
        """The tools of all agents."""
        everyone = (*self.members, *([self.lead] if self.lead else []))
        return tuple(tool for member in everyone for tool in member.tools)

    @property
    def offered(self) -> list[str]:
        """Names of the agents, then of the workflows, without those that only workflows run."""
        names = [*(str(member.table["name"]) for member in self.members), *self.workflows]
        return [name for name in names if name not in self.inner]

    @property
    def first(self) -> str:
        """Name of the workflow that gets the task; empty: an agent gets it."""
        only = self.offered if self.lead is None else []
        return self.entry or (only[0] if len(only) == 1 and only[0] in self.workflows else "")

    def as_agent(self) -> Team:
        """Return the team as one agent of other teams, with all settings in the agents' own.

        Raises:
            ConfigurationError: Several agents share the task, or the provider has no model.
        """
        content, offered, first = self.content(()), self.offered, self.first
        if self.lead is not None or not (first or len(offered) == 1):
            raise ConfigurationError(
                "Only one agent, or a workflow that gets the task, can be a member of a team: "
                "members do not delegate."
            )
        model = {}
        if self.provider:
            model["model"] = f"{self.provider['name']}:{self.provider['model']}"
            if not self.provider["model"]:
                raise ConfigurationError(f"Name the model of the provider {model['model']!r}.")
        members = []
        for member, table in zip(self.members, content["agents"], strict=True):
            own = {key: value for key, value in table.items() if key != "tools"}
            members.append(replace(member, table={**model, **own}))
        names = {*self.workflows, *(str(member.table["name"]) for member in members)}
        inner = frozenset(names - {first or offered[0]})
        return Team(members=tuple(members), workflows=self.workflows, entry=first, inner=inner)

    def joined(self, agent: Team) -> Team:
        """Return the team with a member: another team, from ``as_agent``.

        Raises:
            ConfigurationError: Both name an agent or workflow alike, and do not share it.
        """
        mine, given = self._by_name(), agent._by_name()
        for name in given.keys() & mine.keys():
            if given[name] != mine[name] or name not in self.inner & agent.inner:
                raise ConfigurationError(f"{name!r} already exists: give each its own name.")
        return replace(
            self,
            members=(*self.members, *(one for one in agent.members if one not in self.members)),
            workflows={**self.workflows, **agent.workflows},
            inner=self.inner | agent.inner,
        )

    def _by_name(self) -> dict[str, Member | Workflow]:
        return {**{str(one.table["name"]): one for one in self.members}, **self.workflows}

    def content(self, default_team: tuple[Member, ...]) -> Table:
        """Return the team as a configuration file's content.

        Args:
            default_team: The agents of a team without agents.
        """
        members = self.members
        if not members and self.lead is None and not self.workflows:
            members = default_team
        agents = [self._table(member) for member in members]
        lead = self._table(self.lead) if self.lead is not None else None
        names = [*(agent["name"] for agent in agents), *self.workflows]
        delegates = [name for name in names if name not in {*self.inner, self.first}]
        if lead is None and len(delegates) > 1:
            lead = dict(self.every)
        if lead is not None and self.workflows:
            lead["team"] = delegates
        if self.response_schema is not None:
            if self.first or not agents:
                raise ConfigurationError(
                    "A workflow gets the task: set its output instead of a response schema."
                )
            (agents[0] if lead is None else lead)["response_schema"] = dict(self.response_schema)
        content: Table = {"agents": agents}
        if self.workflows:
            specs = [workflow.spec for workflow in self.workflows.values()]
            content["workflows"] = [spec.model_dump(mode="json") for spec in specs]
        if lead is not None:
            content["orchestrator"] = lead
        if self.provider:
            content["provider"] = dict(self.provider)
        return content

    def _table(self, member: Member) -> Table:
        tools = [{"name": tool.name, **tool.settings} for tool in member.tools]
        return {**self.every, **member.table, "tools": tools}


def check_provider(table: Table) -> None:
    """Check the provider's table.

    Raises:
        ConfigurationError: No such provider, or no model.
    """
    content = {"provider": table}
    _refuse(validation_messages.check(ProviderSection, table, ("provider",)), content)
    _refuse(consistency.check(content), content)


def check_member(table: Table, *, leads: bool) -> None:
    """Check an agent's settings, without its tools.

    Raises:
        ConfigurationError: One sentence that names the agent and the setting.
    """
    name = table.get("name", consistency.ORCHESTRATOR)
    for key, instead in OWN_STEPS.items():
        if key in table:
            raise ConfigurationError(f"Agent {name!r}: {key} is not accepted here; {instead}.")
    content: Table = {"orchestrator": table} if leads else {"agents": [table]}
    found = rust_original.translate(content)  # addresses of MCP servers become grants
    _refuse(found.complaints, content)
    _check_settings(found.content)


def check_every(settings: Table) -> None:
    """Check settings of all agents.

    Raises:
        ConfigurationError: As for ``check_member``.
    """
    check_member(
        {"name": "every", "description": "", "system_prompt": "x", **settings}, leads=False
    )


def check(content: Table) -> None:
    """Check a whole team, tools included; Django has to be set up.

    Raises:
        ConfigurationError: One sentence that names the agent and the setting.
    """
    _check_settings(content)
    _refuse(consistency.check(content), content)


def _check_settings(content: Table) -> None:
    """Check the settings of each agent by itself."""
    for path, table in consistency.agents_of(content):
        section = OrchestratorSection if path == ("orchestrator",) else AgentSection
        _refuse(validation_messages.check(section, table, path), content)


def _refuse(found: Any, content: Table) -> None:
    complaint: Complaint | None = next(iter(found), None)
    if complaint is None:
        return
    path, message = complaint
    match path:
        case ("agents", int(index), *rest):
            place, rest = f"Agent {content['agents'][index].get('name')!r}", rest
        case ("workflows", int(index), *rest):
            place, rest = f"Workflow {content['workflows'][index].get('name')!r}", rest
        case ("orchestrator", *rest):
            name = content["orchestrator"].get("name", consistency.ORCHESTRATOR)
            place = f"Agent {name!r}"
        case _:
            place, rest = "The provider", list(path[1:])
    raise ConfigurationError(f"{place}: {sentence_of(tuple(rest), message)}")
