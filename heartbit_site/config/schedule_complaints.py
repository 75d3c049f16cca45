"""Inconsistencies of the `[[schedules]]` of a file, in themselves and with the file's agents."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from agents.definitions import validation_messages
from agents.definitions.validators import unknown_tool
from heartbit_site.config.consistency import ORCHESTRATOR, agents_of
from scheduling.spec import KINDS
from tools.registry import hint, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.definitions.validation_messages import Complaint
    from heartbit_site.config.consistency import Table
    from heartbit_site.config.positions import Path


def check(content: Table) -> Iterator[Complaint]:
    """Yield the inconsistencies of the schedules with each other and with the agents.

    A file without agents means the workspace's, which are not known here.
    """
    agents = dict(_agents(content))
    names: dict[str, Path] = {}
    tables = content.get("schedules")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        path: Path = ("schedules", index)
        if not isinstance(table, dict):
            continue
        name = table.get("name")
        if isinstance(name, str) and names.setdefault(name.strip(), path) is not path:
            yield (*path, "name"), f'is "{name}", which another schedule is called already'
        yield from _when(path, table)
        yield from _what(path, table)
        if agents:
            yield from _who(path, table, agents)


def _agents(content: Table) -> Iterator[tuple[str, Table]]:
    """Yield the file's agents by name, with the orchestrator that reading adds."""
    found = [table for _, table in agents_of(content)]
    if len(found) > 1 and "orchestrator" not in content:
        yield ORCHESTRATOR, {}
    for table in found:
        if isinstance(table.get("name"), str):
            yield table["name"], table


def _when(path: Path, table: Table) -> Iterator[Complaint]:
    given = [name for name in KINDS if name in table]
    if not given:
        yield path, "needs one of cron, every_seconds and at, which says when"
    for name in given[1:]:
        yield (*path, name), f"is given beside {given[0]}: keep one of them"
    begin, end = table.get("begins_at"), table.get("ends_at")
    if _is_moment(begin) and _is_moment(end) and end <= begin:
        yield (*path, "ends_at"), "is not after begins_at"


def _what(path: Path, table: Table) -> Iterator[Complaint]:
    yield from validation_messages.secrets(table.get("arguments"), (*path, "arguments"))
    if unknown := unknown_tool(table.get("tool"), registry):
        yield (*path, "tool"), unknown
    if table.get("task_type") == "tool_call":
        if not table.get("tool"):
            yield (*path, "tool"), 'is missing, which task_type = "tool_call" needs'
        return
    task = table.get("task", "")
    if isinstance(task, str) and not task.strip():
        yield (*path, "task"), "is missing: say what the agent should do each time"
    for name in ("tool", "arguments"):
        if name in table:
            yield (*path, name), 'goes with task_type = "tool_call" alone'


def _who(path: Path, table: Table, agents: Mapping[str, Table]) -> Iterator[Complaint]:
    name, tool = table.get("agent"), table.get("tool")
    if not isinstance(name, str):
        return
    if name not in agents:
        yield (
            (*path, "agent"),
            f'names "{name}", no agent of this file; {hint(name, sorted(agents))}',
        )
    elif isinstance(tool, str) and tool and tool not in _tools(agents[name]):
        yield (*path, "tool"), f'names "{tool}", which the agent {name} does not have'


def _tools(table: Table) -> list[Any]:
    entries = table.get("tools")
    return [
        entry.get("name") if isinstance(entry, dict) else entry
        for entry in (entries if isinstance(entries, list) else ())
    ]


def _is_moment(value: object) -> TypeGuard[datetime]:
    """Return True if a value is a time that can be compared with another."""
    return isinstance(value, datetime) and value.tzinfo is not None
