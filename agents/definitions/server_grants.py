"""Grants of all tools of an MCP server at once, such as ``shop_*``. Pure.

Such a grant stands for the tools that the server has when the agent is published. Each tool is
pinned as if granted by its own name; tools added later need another publication.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from heartbit_site.base.toolspec import Origin, ToolSpec

if TYPE_CHECKING:
    from agents.definitions.spec import ToolGrant

ALL: Final = "_*"


def servers_of(tools: Mapping[str, ToolSpec]) -> dict[str, list[str]]:
    """Return the tool names of each server, by the name of the grant of all its tools."""
    found: dict[str, list[str]] = {}
    for name, spec in tools.items():
        if spec.origin is Origin.MCP and spec.source:
            found.setdefault(f"{spec.source}{ALL}", []).append(name)
    return found


def names_in(names: Iterable[str], tools: Mapping[str, ToolSpec]) -> set[str]:
    """Return the names of the tools that some grants give."""
    servers = servers_of(tools)
    return {tool for name in names for tool in servers.get(name, [name])}


def expand(grants: Iterable[ToolGrant], tools: Mapping[str, ToolSpec]) -> list[ToolGrant]:
    """Return one grant for each tool, with server grants expanded; a tool's own grant wins.

    The grant of a server without tools expands to nothing.
    """
    servers, given = servers_of(tools), list(grants)
    own = {grant.name for grant in given}
    expanded: list[ToolGrant] = []
    for grant in given:
        if grant.name.endswith(ALL):
            names = [name for name in servers.get(grant.name, ()) if name not in own]
            expanded += [grant.model_copy(update={"name": name}) for name in names]
        else:
            expanded.append(grant)
    return expanded
