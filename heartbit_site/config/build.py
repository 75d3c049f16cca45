"""The content of a valid configuration file, built from its tables with defaults filled in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import Field

from agents.actions.write_agents import PROMPT
from agents.definitions.setting_types import Arguments
from agents.definitions.spec import AgentSpec, DefinitionSpec, with_default_mode
from agents.delivery.targets import MOST_TARGETS, Target
from agents.llm.providers import PROVIDERS
from heartbit_site.config.sections import (
    AgentSection,
    OrchestratorSection,
    ProviderSection,
    RetrySection,
    ServerSection,
    other_kinds,
)
from heartbit_site.config.workspace_sections import ARRAYS, MemorySection
from scheduling.spec import CheckedSpec, ScheduleSpec
from tools.server_spec import McpServerSpec


class ScheduleSection(CheckedSpec):
    """One of `[[schedules]]`."""

    #: A table, or JSON in a string, because TOML has no null.
    arguments: Arguments = Field(default_factory=dict)
    deliver: list[Target] = Field(default_factory=list, max_length=MOST_TARGETS)


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
        memory: Settings of the workspace's memories; None without the section.
        parts: Entries of the sections ``workspace_sections.ARRAYS``, by the section.
        notes: Sentences about settings that have no effect, or are written differently now.
    """

    agents: tuple[AgentSpec, ...] = ()
    others: tuple[DefinitionSpec, ...] = ()
    schedules: tuple[ScheduleSpec, ...] = ()
    mcp_servers: tuple[McpServerSpec, ...] = ()
    entry: str = ""
    default_model: str = ""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    server_url: str = ""
    memory: MemorySection | None = None
    parts: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
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


#: Settings of `[orchestrator]` that are the defaults of all agents of the file.
INHERITED: Final = ("max_turns", "max_tokens")


def build(
    content: dict[str, Any], files: Mapping[str, str], notes: Iterable[str] = ()
) -> Configuration:
    """Return the configuration of valid tables.

    Args:
        content: The file, as ``translate`` gives it.
        files: The texts of the prompt files it names.
        notes: Sentences about it.
    """
    provider = ProviderSection.model_validate(content.get("provider", {}))
    agents = [AgentSection.model_validate(table) for table in content.get("agents", ())]
    model = _default_model(provider)
    orchestrator = _orchestrator(content, agents)
    sections = [orchestrator, *agents] if orchestrator else agents
    others = [
        kind.spec.model_validate(table)
        for kind in other_kinds()
        for table in content.get(kind.section, ())
    ]
    names = [one.name for one in (*sections, *others)]
    return Configuration(
        agents=tuple(_agent(section, provider.retry, orchestrator, files) for section in sections),
        schedules=tuple(map(ScheduleSection.model_validate, content.get("schedules", ()))),
        mcp_servers=tuple(map(McpServerSpec.model_validate, content.get("mcp_servers", ()))),
        others=tuple(map(_sorted, others)),
        entry=names[0] if names else "",
        default_model=model,
        base_urls=({model.partition(":")[0]: provider.base_url} if provider.base_url else {}),
        server_url=ServerSection.model_validate(content.get("server", {})).url,
        memory=MemorySection.model_validate(content["memory"]) if "memory" in content else None,
        parts={
            section: tuple(map(spec.model_validate, content[section]))
            for section, spec in ARRAYS.items()
            if section in content
        },
        notes=tuple(notes),
    )


def _sorted(spec: DefinitionSpec) -> DefinitionSpec:
    tools = sorted(spec.tools, key=lambda tool: tool.name)
    return spec.model_copy(update={"tools": tools, "team": sorted(spec.team)})


def _default_model(provider: ProviderSection) -> str:
    if not provider.name:
        return provider.model  # with its provider, or empty
    model = provider.model.removeprefix(f"{provider.name}:")
    return f"{provider.name}:{model or PROVIDERS[provider.name].default_model}"


def _orchestrator(
    content: dict[str, Any], agents: list[AgentSection]
) -> OrchestratorSection | None:
    """Return the file's orchestrator; several agents without one get the default orchestrator."""
    table = content.get("orchestrator")
    if table is None and len(agents) < 2:
        return None
    team = [agent.name for agent in agents if agent.enabled and not agent.team]
    return OrchestratorSection.model_validate({"team": team, **(table or {})})


def _agent(
    section: AgentSection,
    retry: RetrySection,
    orchestrator: OrchestratorSection | None,
    files: Mapping[str, str],
) -> AgentSpec:
    prompt = section.system_prompt or (
        files[section.system_prompt_file] if section.system_prompt_file is not None else PROMPT
    )
    fallbacks = {
        "max_retries": retry.max_retries,
        "retry_base_delay_ms": retry.base_delay_ms,
        "retry_max_delay_ms": retry.max_delay_ms,
    }
    if orchestrator is not None:
        fallbacks |= {name: getattr(orchestrator, name) for name in INHERITED}
    given = section.model_fields_set
    values = {name: getattr(section, name) for name in AgentSpec.model_fields}
    values |= {name: value for name, value in fallbacks.items() if name not in given}
    values |= {
        "system_prompt": prompt,
        "tools": sorted(section.tools, key=lambda tool: tool.name),
        "team": sorted(section.team),
    }
    return with_default_mode(AgentSpec.model_construct(**values), given)
