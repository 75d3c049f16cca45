"""What a configuration file says, once everything in it is known to be usable."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.config.sections import AgentSection

if TYPE_CHECKING:
    from collections.abc import Mapping

# The columns of an agent's row that the file sets, in the order in which they are written.
FIELDS: Final = tuple(
    name
    for name in AgentSection.model_fields
    if name not in ("name", "system_prompt_file", "tools", "team")
)
# What an agent is that says nothing: every column but those it has to name.
DEFAULTS: Final[Mapping[str, Any]] = {
    name: AgentSection.model_fields[name].get_default(call_default_factory=True)
    for name in FIELDS
    if name not in ("description", "system_prompt")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSetting:
    """A tool given to an agent; the attributes are the columns of its binding."""

    tool: str
    enabled: bool = True
    approval: str = ""
    approval_when: Mapping[str, Any] | None = None
    approval_seconds: int | None = None
    approvals: int = 1
    approvers: str = ""
    escalate_minutes: int | None = None
    escalate_group: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def decided_by(self) -> list[Any]:
        """Who decides its calls and until when; empty, as in older digests, where that is open."""
        said = [self.approval_seconds, self.approvals, self.approvers]
        escalated = [self.escalate_minutes, self.escalate_group]
        if escalated != [None, ""]:
            return said + escalated
        return [] if said == [None, 1, ""] else said


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetting:
    """An agent.

    Attributes:
        name: Its name.
        columns: A value for each of ``FIELDS``.
        tools: Its tools, by name.
        team: The names of the agents it may delegate to, sorted.
    """

    name: str
    columns: Mapping[str, Any]
    tools: tuple[ToolSetting, ...] = ()
    team: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSetting:
    """A schedule.

    Attributes:
        name: Its name.
        agent: Who does it, by name.
        columns: A value for each other column of its row that the file sets.
    """

    name: str
    agent: str
    columns: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A file.

    Attributes:
        agents: Every agent, the orchestrator first.
        schedules: In the file's order.
        entry: Who is asked when nobody is named; empty when the file has no agents.
        default_model: The ``provider:model`` of agents that name none; may be empty.
        base_urls: Where providers are, by name.
        server_url: The remote server; may be empty.
        notes: Sentences about what the file says without effect.
    """

    agents: tuple[AgentSetting, ...] = ()
    schedules: tuple[ScheduleSetting, ...] = ()
    entry: str = ""
    default_model: str = ""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    server_url: str = ""
    notes: tuple[str, ...] = ()

    def with_model(self, model: str) -> Configuration:
        """The same, with this model for every agent that names none."""
        agents = tuple(
            replace(agent, columns={**agent.columns, "model": agent.columns["model"] or model})
            for agent in self.agents
        )
        return replace(self, agents=agents)

    def digest(self) -> str:
        """16 hexadecimal digits of a SHA-256 over the agents: what their rows are told by."""
        agents = [
            [
                agent.name,
                dict(agent.columns),
                [
                    [
                        *(tool.tool, tool.enabled, tool.approval, tool.approval_when),
                        tool.defaults,
                        *tool.decided_by(),
                    ]
                    for tool in agent.tools
                ],
                agent.team,
            ]
            for agent in self.agents
        ]
        separators = (",", ":")
        text = json.dumps([self.entry, agents], sort_keys=True, separators=separators, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
