"""Rules across several settings of an agent, or across agents and tools of one place.

The rules read plain values, because other settings of the same table may be invalid, too, and all
errors are reported together. Values of a wrong type are reported elsewhere and skipped here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from agents.definitions.kinds import part_of
from agents.definitions.spec import CODE_MODE_TOOLS, CODE_TOOL
from agents.definitions.validation_messages import MOST_COMPLAINTS, Complaint, Path
from agents.definitions.validators import unknown_tool
from tools.texts.near_names import hint

Table: TypeAlias = "Mapping[str, Any]"


def check(
    path: Path,
    table: Table,
    names: Mapping[str, Any],
    *,
    tools: Collection[str],
    place: str = "this workspace",
    kind: str = "agent",
) -> Iterator[Complaint]:
    """Yield the inconsistencies in the settings of an agent, or of a definition of another kind.

    Args:
        path: Path of the table, prepended to each error's path.
        table: The agent's settings, with its name; missing settings are not checked.
        names: Names of the agents that its team may contain.
        tools: Names of the tools that it may use.
        place: Description of the place of these agents, for messages.
        kind: Name of the kind.
    """
    found = _complaints(path, table, names, tools=tools, place=place, kind=kind)
    yield from islice(found, MOST_COMPLAINTS)


def _complaints(
    path: Path,
    table: Table,
    names: Mapping[str, Any],
    *,
    tools: Collection[str],
    place: str,
    kind: str,
) -> Iterator[Complaint]:
    yield from _team(path, table, names, place)
    own = part_of(kind, "check")
    if own is not None:
        yield from own(path, table, names, tools=tools)
    grants = table.get("tools")
    if table.get("execution_mode", "never") != "never" and CODE_TOOL not in _names(grants):
        yield (*path, "execution_mode"), f"needs the tool {CODE_TOOL}, which runs the code"
    seen: set[str] = set()
    for index, entry in enumerate(grants if isinstance(grants, list) else ()):
        here = (*path, "tools", index)
        grant = entry if isinstance(entry, dict) else {"name": entry}
        name = grant.get("name")
        unknown = unknown_tool(name, tools)
        if unknown and grant.get("enabled") is not False:  # a disabled tool need not be installed
            yield (*here, "name"), unknown
        if table.get("code_mode") and name in CODE_MODE_TOOLS:
            yield (
                (*here, "name"),
                f'"{name}" is a tool of code mode: rename this one, or turn it off',
            )
        if isinstance(name, str):
            if name in seen:
                yield here, f'names "{name}" twice'
            seen.add(name)
        yield from check_grant(here, grant, table.get("approval_timeout_seconds"))


def check_grant(path: Path, grant: Table, agent_seconds: object = None) -> Iterator[Complaint]:
    """Yield the inconsistencies in the settings of one bound tool.

    Args:
        path: Path of the tool's table.
        grant: Settings of the tool.
        agent_seconds: The agent's own ``approval_timeout_seconds``.
    """
    if (grant.get("approval") == "when") != (grant.get("approval_when") is not None):
        yield path, 'needs both approval = "when" and approval_when, or neither'
    minutes = grant.get("escalate_after_minutes")
    if minutes is None and grant.get("escalation_group"):
        yield (
            (*path, "escalation_group"),
            "needs escalate_after_minutes, which says when it is asked",
        )
    seconds = grant.get("approval_timeout_seconds") or agent_seconds
    if isinstance(minutes, int) and isinstance(seconds, int) and seconds <= minutes * 60:
        yield (
            (*path, "escalate_after_minutes"),
            f"is too late: a call is refused after {seconds} seconds, before more people are "
            "asked; give fewer minutes, or more seconds",
        )


def _names(grants: object) -> set[object]:
    """Return the names of the enabled tools."""
    entries = grants if isinstance(grants, list) else []
    tables = [entry if isinstance(entry, dict) else {"name": entry} for entry in entries]
    return {str(table.get("name")) for table in tables if table.get("enabled") is not False}


def _team(path: Path, table: Table, names: Mapping[str, Any], place: str) -> Iterator[Complaint]:
    team = table.get("team")
    members: list[Any] = team if isinstance(team, list) else []
    seen: set[str] = set()
    for index, member in enumerate(members):
        here = (*path, "team", index)
        if not isinstance(member, str):
            continue
        if member == table.get("name"):
            yield here, f'names "{member}": an agent cannot be in its own team'
        elif member not in names:
            yield here, f'names "{member}", not an agent of {place}; {hint(member, sorted(names))}'
        elif member in seen:
            yield here, f'names "{member}" twice'
        seen.add(member)
