"""The content of a valid configuration file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.definitions.spec import AgentSpec, DefinitionSpec
    from scheduling.spec import ScheduleSpec
    from tools.server_spec import McpServerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The content of a file.

    Attributes:
        agents: Every agent, the orchestrator first.
        others: Definitions of other kinds, in the file's order.
        schedules: Schedules in the file's order.
        mcp_servers: MCP servers in the file's order.
        entry: Name of the agent that gets the task by default; empty when the file has none.
        default_model: The ``provider:model`` of agents that name none; may be empty.
        base_urls: Base URLs of providers, by name.
        server_url: The remote server; may be empty.
        notes: Sentences about what has no effect, or is written otherwise.
    """

    agents: tuple[AgentSpec, ...] = ()
    others: tuple[DefinitionSpec, ...] = ()
    schedules: tuple[ScheduleSpec, ...] = ()
    mcp_servers: tuple[McpServerSpec, ...] = ()
    entry: str = ""
    default_model: str = ""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    server_url: str = ""
    notes: tuple[str, ...] = ()

    @property
    def everyone(self) -> tuple[DefinitionSpec, ...]:
        """The definitions of all kinds, the agents first."""
        return (*self.agents, *self.others)

    def with_model(self, model: str) -> Configuration:
        """Return a copy with this model for every agent that names none."""
        agents = tuple(
            agent.model_copy(update={"model": agent.model or model}) for agent in self.agents
        )
        return replace(self, agents=agents)

    def digest(self) -> str:
        """Return 16 hexadecimal digits of a SHA-256 over the agents, which identify their rows."""
        agents = [agent.model_dump(mode="json") for agent in self.everyone]
        text = json.dumps([self.entry, agents], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
