"""Export of a workspace's agents and schedules as a file that imports to the same ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from agents.actions.write_agents import ORCHESTRATOR
from agents.definitions.kinds import AGENT, UnknownKindError, find_kind
from agents.definitions.spec import SETTINGS, AgentSpec, ToolGrant, has_code_tool
from agents.delivery.targets import Target, target_of
from agents.models import Agent
from agents.reads.agents import spec_of
from heartbit_site.base.models import Workspace
from heartbit_site.config import toml_text
from heartbit_site.config.build import INHERITED
from heartbit_site.config.sections import PARTS
from heartbit_site.config.workspace_parts import read_memory, read_parts
from scheduling.models import Schedule
from scheduling.spec import SETTINGS as SCHEDULE_SETTINGS
from scheduling.spec import ScheduleSpec
from tools.models import McpServer
from tools.server_spec import McpServerSpec

_HEAD: Final = "# Heartbit. `heartbit config check` and `heartbit config import` read this file.\n"
_WIDTH: Final = 88


def export(workspace: Workspace, *, sections: Collection[str] = PARTS) -> str:
    """Return the agents of the admin, sorted by name, with every value that is not the default.

    The agent called orchestrator is the section of that name; without one, the first with a team.
    MCP servers, schedules, and the workspace's other sections follow, sorted by name, except
    schedules that agents created for themselves.

    Args:
        workspace: The workspace.
        sections: The sections of ``PARTS`` that are written.
    """
    rows = Agent.objects.filter(workspace=workspace, origin="").order_by("name")
    everyone = list(rows.prefetch_related("bindings", "team"))
    agents = [row for row in everyone if row.kind == AGENT.name]
    entry = _entry(agents)
    others = [agent for agent in agents if agent is not entry]
    default_team = [agent.name for agent in others if agent.enabled and not agent.team.all()]
    parts = [_HEAD]
    if workspace.default_model:
        provider, _, model = workspace.default_model.partition(":")
        parts.append(_section("[provider]", {"name": provider, "model": model}))
    if entry is not None:
        name = {} if entry.name == ORCHESTRATOR else {"name": entry.name}
        parts.append(_section("[orchestrator]", name | _content(entry, default_team)))
    inherited = {name: getattr(entry, name) for name in INHERITED} if entry is not None else {}
    parts += [
        _section("[[agents]]", {"name": agent.name} | _content(agent, [], inherited))
        for agent in others
    ]
    parts += [_other(row) for row in everyone if row.kind != AGENT.name]
    servers = McpServer.objects.filter(workspace=workspace).order_by("name")
    parts += [_section("[[mcp_servers]]", _server(row)) for row in servers]
    timed = Schedule.objects.filter(workspace=workspace, created_by_run_id__isnull=True)
    parts += [
        _section("[[schedules]]", _schedule(row))
        for row in timed.select_related("agent").order_by("name")
    ]
    return "\n".join([*parts, *_other_sections(workspace, sections)])


def _other_sections(workspace: Workspace, sections: Collection[str]) -> Iterator[str]:
    memory = read_memory(workspace).model_dump(exclude_defaults=True)
    if memory:
        yield _section("[memory]", memory)
    for section, rows in read_parts(workspace).items():
        spec: Any
        for _, spec in rows.values() if section in sections else ():
            content = spec.model_dump(exclude_defaults=True)
            if "deliver" in content:
                content["deliver"] = [_compact(target) for target in spec.deliver]
            yield _section(f"[[{section}]]", content)


def _other(row: Agent) -> str:
    """Return the section of a definition of another kind, or the reason for leaving it out."""
    try:
        kind = find_kind(row.kind, row.name)
    except UnknownKindError as error:
        return f"# Left out: {error}\n"
    spec = spec_of(row)
    own = spec.model_dump(exclude={"name", "tools", "team"}, exclude_defaults=True)
    content = {"name": row.name, **own, "tools": [_tool(grant) for grant in spec.tools]}
    content["team"] = spec.team
    return _section(f"[[{kind.section}]]", {k: v for k, v in content.items() if v != []})


def _entry(agents: list[Agent]) -> Agent | None:
    """Return the agent for `[orchestrator]`, which reading adds to several agents without one."""
    for agent in agents:
        if agent.name == ORCHESTRATOR:
            return agent
    if len(agents) < 2:
        return None
    return next((agent for agent in agents if agent.team.all()), agents[0])


def _content(
    agent: Agent,
    default_team: list[str],
    inherited: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    spec = spec_of(agent)
    content = spec.model_dump(include=set(SETTINGS), exclude_defaults=True)
    if isinstance(spec, AgentSpec) and has_code_tool(spec):
        content["execution_mode"] = spec.execution_mode  # its default depends on the tool
    for name, value in (inherited or {}).items():
        content.pop(name, None)
        if getattr(spec, name) != value:
            content[name] = getattr(spec, name)
    if spec.tools:
        content["tools"] = list(map(_tool, sorted(spec.tools, key=lambda one: one.name)))
    if spec.team != sorted(default_team):
        content["team"] = spec.team
    return content


def _tool(grant: ToolGrant) -> str | dict[str, Any]:
    table = grant.model_dump(exclude_defaults=True)
    return table if len(table) > 1 else grant.name


def _schedule(row: Schedule) -> dict[str, Any]:
    content: dict[str, Any] = {"name": row.name, "agent": row.agent.name}
    for name in SCHEDULE_SETTINGS:
        value = getattr(row, name)
        if value not in (ScheduleSpec.default_of(name), ""):
            content[name] = value
    if row.deliver:
        content["deliver"] = [_target(target) for target in row.deliver]
    return content


def _server(row: McpServer) -> dict[str, Any]:
    spec = McpServerSpec.model_construct(**row.settings())
    return {"name": spec.name} | spec.model_dump(exclude_defaults=True)


def _target(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a target without its defaults, except for its kind, which is required."""
    return _compact(target_of(stored))


def _compact(target: Target) -> dict[str, Any]:
    return {"kind": target.kind} | target.model_dump(mode="json", exclude_defaults=True)


def _section(header: str, content: dict[str, Any]) -> str:
    return "\n".join([header, *(_pair(key, value) for key, value in content.items()), ""])


def _pair(key: str, value: Any) -> str:
    if key in ("tools", "deliver"):
        return f"{key} = {_array([_table(entry) for entry in value])}"
    if isinstance(value, dict):
        return f"{key} = {_json(value, _WIDTH - len(key), indent=2)}"
    return f"{key} = {toml_text.value(value)}"


def _array(elements: list[str]) -> str:
    line = f"[{', '.join(elements)}]"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    return "[\n" + "".join(f"  {element},\n" for element in elements) + "]"


def _table(entry: str | dict[str, Any]) -> str:
    """Return a table on one line: an inline table has no line breaks outside of its strings."""
    if isinstance(entry, str):
        return toml_text.value(entry)
    pairs = [
        f"{key} = {_json(value, 0) if isinstance(value, dict) else toml_text.value(value)}"
        for key, value in entry.items()
    ]
    return f"{{ {', '.join(pairs)} }}"


def _json(value: dict[str, Any], width: int, *, indent: int | None = None) -> str:
    """Return a short table as TOML; a long one, or one with null, as JSON in a string."""
    with suppress(TypeError):  # TOML has no null
        line = toml_text.value(value)
        if indent is None or (len(line) <= width and "\n" not in line):
            return line
    return toml_text.string(json.dumps(value, ensure_ascii=False, indent=indent))
