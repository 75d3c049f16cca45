"""Grants of all tools of an MCP server at once, such as ``shop_*``. Pure.

Such a grant stands for the tools that the server has when the agent is published: each is pinned as
if it were given by its own name, and those that come later need the next publication.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from heartbit_site.base.toolspec import Origin, ToolSpec

if TYPE_CHECKING:
    from agents.definitions.spec import ToolGrant

ALL: Final = "_*"


def servers_of(tools: Mapping[str, ToolSpec]) -> dict[str, list[str]]:
    """Return the names of the tools of each server, by the name of the grant of all of them."""
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
    """Return one grant for each tool, those of a server like its own; a tool's own grant wins.

    A server without tools gives none.
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
