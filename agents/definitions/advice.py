"""Advice on an agent's settings that are valid but probably not intended. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agents.definitions.server_grants import ALL, expand
from heartbit_site.base.toolspec import Label, Origin, ToolSpec

if TYPE_CHECKING:
    from agents.definitions.spec import AgentSpec


def advice(spec: AgentSpec, tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    """Yield sentences about the settings of an agent that can be published.

    Args:
        spec: Settings of the agent.
        tools: Tools by name.
    """
    grants = expand(spec.tools, tools)
    given = [tools[grant.name] for grant in grants if grant.enabled and grant.name in tools]
    sources = {label: _sources(tool for tool in given if label in tool.labels) for label in Label}
    if all(sources.values()):
        does = (
            "needs an approval once both were read"
            if spec.mixed_data == "ask"
            else "is allowed (mixed_data), so an outsider's text may steer what leaves"
        )
        yield (
            f"{spec.name} can read private data ({', '.join(sources[Label.PRIVATE])}), read text "
            f"by outsiders ({', '.join(sources[Label.UNTRUSTED])}) and send data out "
            f"({', '.join(sources[Label.OUTBOUND])}): sending {does}."
        )
        servers = sorted({tool.source for tool in given if _is_private_server(tool)})
        if servers:
            yield (
                f"The data of {', '.join(servers)} counts as private: if an MCP server holds "
                "none, set private_data of that server to false."
            )


def publish_again(agents: Sequence[str]) -> str:
    """Return a sentence about the agents whose tools changed after their publication."""
    return f"Publish again: {', '.join(agents)}." if agents else "No agent has to be published."


def _sources(tools: Iterable[ToolSpec]) -> list[str]:
    """Return the names of tools for people, with those of an MCP server as ``server_*``."""
    names = (f"{tool.source}{ALL}" if _is_of_server(tool) else tool.name for tool in tools)
    return list(dict.fromkeys(names))


def _is_of_server(tool: ToolSpec) -> bool:
    return tool.origin is Origin.MCP and bool(tool.source)


def _is_private_server(tool: ToolSpec) -> bool:
    return _is_of_server(tool) and Label.PRIVATE in tool.labels
