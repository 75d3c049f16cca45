"""Consistency of a file's parts: names, teams, prompts, approvals, the provider, schedules.

Checks the plain values, because other parts of the same table may be wrong as well, and all
problems are reported together; a value of a wrong type is reported elsewhere and skipped here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeGuard

from django.conf import settings

from agents.choices import RunKind
from agents.definitions import consistency, validation_messages
from agents.definitions.kinds import AGENT
from agents.definitions.server_grants import ALL
from agents.definitions.validation_messages import Complaint
from agents.definitions.validators import PROVIDER_NAMES, unknown_tool
from agents.llm.providers import PROVIDERS
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.config.positions import Path
from heartbit_site.config.sections import OrchestratorSection, other_kinds
from scheduling.spec import KINDS
from tools.calls.call_parsing import misfit
from tools.definitions.registry import registry
from tools.server_spec import ADDRESS, address_fault, program_fault, tool_prefix
from tools.texts.near_names import hint

Table: TypeAlias = dict[str, Any]

ORCHESTRATOR: Final[str] = OrchestratorSection.model_fields["name"].default


def check(content: Table, installed: Collection[str] | None = None) -> Iterator[Complaint]:
    """Yield the inconsistencies of a file.

    Args:
        content: The file.
        installed: Names of a workspace's tools; None if unknown.
    """
    yield from _provider(content.get("provider"))
    agents = list(agents_of(content))
    others = list(_definitions_of(content))
    tables = [*agents, *(one for _, one in others)]
    names: dict[str, Path] = {}  # in the file's order
    yield from _repeated(tables, "agent", names)
    if "orchestrator" not in content and len(agents) > 1 and ORCHESTRATOR in names:
        where = (*names[ORCHESTRATOR], "name")
        yield where, f'is "{ORCHESTRATOR}": write that agent as [orchestrator]'
    tools = _known_tools(content, installed)
    for path, table in agents:
        yield from _prompt(path, table, alone=len(agents) == 1)
    for kind, (path, table) in [*((AGENT.name, one) for one in agents), *others]:
        yield from consistency.check(path, table, names, tools=tools, place="this file", kind=kind)
        yield from _secrets(path, table)


def agents_of(content: Table) -> Iterator[tuple[Path, Table]]:
    """Yield every agent's table with its path, the orchestrator's first and with its name."""
    orchestrator = content.get("orchestrator")
    if isinstance(orchestrator, dict):
        yield ("orchestrator",), {"name": ORCHESTRATOR, **orchestrator}
    yield from _tables(content, "agents")


def others_of(content: Table) -> Iterator[tuple[Path, Table]]:
    """Yield the table of each definition of another kind, with its path."""
    return (found for _, found in _definitions_of(content))


def _definitions_of(content: Table) -> Iterator[tuple[str, tuple[Path, Table]]]:
    """Yield the kind of each definition that is not an agent, with its path and table."""
    for kind in other_kinds():
        for found in _tables(content, kind.section):
            yield kind.name, found


def _tables(content: Table, section: str) -> Iterator[tuple[Path, Table]]:
    """Yield the tables of a section that may be written several times, with their paths."""
    tables = content.get(section)
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(table, dict):
            yield (section, index), table


def _repeated(
    tables: Iterable[tuple[Path, Table]], what: str, names: dict[str, Path]
) -> Iterator[Complaint]:
    """Yield the names that are given twice; ``names`` gets the path of each name's first table."""
    for path, table in tables:
        name = table.get("name")
        if isinstance(name, str) and names.setdefault(name.strip(), path) is not path:
            yield (*path, "name"), f'is "{name}", which is already the name of another {what}'


def _provider(table: object) -> Iterator[Complaint]:
    if not isinstance(table, dict):
        return
    name, model, url = (table.get(key, "") for key in ("name", "model", "base_url"))
    if not isinstance(name, str) or not isinstance(model, str):
        return
    chosen = name or model.partition(":")[0]
    known = PROVIDERS.get(chosen)
    if not name and chosen not in PROVIDER_NAMES and (model or url):
        yield ("provider", "name"), f"is missing: one of {', '.join(PROVIDERS)}"
        return
    if chosen in PROVIDER_NAMES and not (model or (known and known.default_model)):
        yield ("provider", "model"), f"is missing: {chosen} has no default model"
    if url and chosen in PROVIDER_NAMES and (known is None or known.key_required):
        yield (
            ("provider", "base_url"),
            f"is not accepted for {chosen}: a file must not decide where a key is sent, so set "
            f"{chosen.upper()}_BASE_URL or the admin's provider account",
        )


def _prompt(path: Path, table: Table, *, alone: bool) -> Iterator[Complaint]:
    """Yield a missing prompt: only an orchestrator with a team has a default prompt."""
    both = "system_prompt" in table and "system_prompt_file" in table
    if both:
        yield (*path, "system_prompt_file"), "is given with system_prompt: keep one of them"
        return
    has_default = path == ("orchestrator",) and not alone and table.get("team") != []
    if not has_default and "system_prompt" not in table and "system_prompt_file" not in table:
        yield (*path, "system_prompt"), "is missing (or system_prompt_file)"


def _secrets(path: Path, table: Table) -> Iterator[Complaint]:
    tools = table.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict):
            where = (*path, "tools", index, "defaults")
            yield from validation_messages.secrets(tool.get("defaults"), where)


def check_schedules(
    content: Table, installed: Collection[str] | None = None
) -> Iterator[Complaint]:
    """Yield the inconsistencies of the schedules with each other and with the agents.

    A file without agents refers to the workspace's agents, which are unknown here.

    Args:
        content: The file.
        installed: Names of a workspace's tools; None if unknown.
    """
    agents, tools = dict(named_agents(content)), _known_tools(content, installed)
    workflows = {
        table.get("name")
        for kind, (_, table) in _definitions_of(content)
        if kind == RunKind.WORKFLOW
    }
    schedules = list(_tables(content, "schedules"))
    yield from _repeated(schedules, "schedule", {})
    for path, table in schedules:
        yield from _when(path, table)
        yield from _what(path, table, tools)
        if agents:
            yield from _who(path, table, agents)
            yield from _input(path, table, agents, workflows)


def check_mcp_servers(content: Table) -> Iterator[Complaint]:
    """Yield the inconsistencies of the MCP servers, and their programs that are not allowed."""
    servers = list(_tables(content, "mcp_servers"))
    yield from _repeated(servers, "MCP server", {})
    for path, table in servers:
        address = (table.get(key, "") for key in ADDRESS)
        if fault := address_fault(*address):
            yield (*path, fault[0]), fault[1]
        if unknown := program_fault(table.get("command"), settings.HEARTBIT_MCP_COMMANDS):
            yield (*path, "command"), unknown


def _known_tools(content: Table, installed: Collection[str] | None) -> set[str]:
    """Return the installed tools, and those named after the file's MCP servers.

    The tools of a server are known only after an import has read it. A grant of all tools of a
    server is accepted while the servers of the workspace are unknown.
    """
    prefixes = tuple(
        tool_prefix(name)
        for _, table in _tables(content, "mcp_servers")
        if isinstance(name := table.get("name"), str) and name
    )
    tables = [table for _, table in (*agents_of(content), *others_of(content))]
    named = [name for table in tables for name in _tools(table) if isinstance(name, str)]
    of_servers = {name for name in named if name.startswith(prefixes)}
    if installed is None:
        of_servers |= {name for name in named if name.endswith(ALL)}
    return {*registry, *of_servers, *(installed or ())}


def named_agents(content: Table) -> Iterator[tuple[str, Table]]:
    """Yield the file's agents by name, with the orchestrator that reading adds."""
    found = [table for _, table in agents_of(content)]
    if len(found) > 1 and "orchestrator" not in content:
        yield ORCHESTRATOR, {}
    for table in (*found, *(table for _, table in others_of(content))):
        if isinstance(table.get("name"), str):
            yield table["name"], table


def _when(path: Path, table: Table) -> Iterator[Complaint]:
    given = [name for name in KINDS if name in table]
    if not given:
        yield path, "needs one of cron, every_seconds and at"
    for name in given[1:]:
        yield (*path, name), f"is given with {given[0]}: keep one of them"
    begin, end = table.get("begins_at"), table.get("ends_at")
    if _is_moment(begin) and _is_moment(end) and end <= begin:
        yield (*path, "ends_at"), "is not after begins_at"


def _what(path: Path, table: Table, tools: Collection[str]) -> Iterator[Complaint]:
    tool = table.get("tool")
    spec = registry.get(str(tool))
    if spec is not None or tool not in tools:  # an MCP server's tools are known at import time
        where = (*path, "arguments")
        own = () if spec is None else spec.parameters.get("properties", ())
        yield from validation_messages.secrets(table.get("arguments"), where, parameters=own)
    if unknown := unknown_tool(tool, tools):
        yield (*path, "tool"), unknown
    if table.get("task_type") == "tool_call":
        if not table.get("tool"):
            yield (*path, "tool"), 'is missing, which task_type = "tool_call" needs'
        return
    if table.get("task_type") == "workflow":
        yield from validation_messages.secrets(table.get("input"), (*path, "input"))
    elif "input" in table:
        yield (*path, "input"), 'is only accepted with task_type = "workflow"'
    task = table.get("task", "")
    if isinstance(task, str) and not task.strip() and table.get("task_type") != "workflow":
        yield (*path, "task"), "is missing: say what the agent should do each time"
    for name in ("tool", "arguments"):
        if name in table:
            yield (*path, name), 'is only accepted with task_type = "tool_call"'


def _who(path: Path, table: Table, agents: Mapping[str, Table]) -> Iterator[Complaint]:
    name, tool = table.get("agent"), table.get("tool")
    if not isinstance(name, str):
        return
    if name not in agents:
        yield (
            (*path, "agent"),
            f'names "{name}", not an agent of this file; {hint(name, sorted(agents))}',
        )
    elif isinstance(tool, str) and tool and tool not in _tools(agents[name]):
        yield (*path, "tool"), f'names "{tool}", which the agent {name} does not have'
    elif isinstance(tool, str) and tool in registry:  # others are known at import time
        yield from _misfit((*path, "arguments"), table, agents[name], registry[tool])


def _input(
    path: Path, table: Table, agents: Mapping[str, Table], workflows: Collection[object]
) -> Iterator[Complaint]:
    """Yield that the input of a workflow does not fit, or that the agent is no workflow."""
    name = table.get("agent")
    if table.get("task_type") != "workflow" or not isinstance(name, str) or name not in agents:
        return
    if name not in workflows:
        yield (*path, "agent"), f'names "{name}", which is not a workflow'
        return
    schema, given = agents[name].get("input"), table.get("input", {})
    if not isinstance(schema, dict) or not isinstance(given, dict):
        return
    with suppress(ConfigurationError):  # of the schema, which is reported at the workflow
        if problems := validate(schema, given):
            said = "; ".join(problems)
            yield (*path, "input"), f'does not fit the workflow "{name}": {said}'


def _misfit(path: Path, table: Table, agent: Table, spec: ToolSpec) -> Iterator[Complaint]:
    given = table.get("arguments", {})
    own = spec.parameters.get("properties", ())
    if not isinstance(given, dict) or any(validation_messages.secrets(given, path, parameters=own)):
        return  # reported separately
    if problem := misfit(spec, given, _defaults(agent, spec.name)):
        yield path, f"cannot be used. {problem.removesuffix('.')}"


def _tools(table: Table) -> list[Any]:
    entries = table.get("tools")
    return [
        entry.get("name") if isinstance(entry, dict) else entry
        for entry in (entries if isinstance(entries, list) else ())
    ]


def _defaults(agent: Table, tool: str) -> dict[str, Any]:
    """Return the defaults that an agent's table gives to a tool."""
    for entry in agent.get("tools", ()):
        if isinstance(entry, dict) and entry.get("name") == tool:
            found = entry.get("defaults")
            return found if isinstance(found, dict) else {}
    return {}


def _is_moment(value: object) -> TypeGuard[datetime]:
    """Return True if a value is a time that can be compared with another."""
    return isinstance(value, datetime) and value.tzinfo is not None
