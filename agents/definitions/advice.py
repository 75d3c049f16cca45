"""Advice on settings that are valid but probably not intended, and what an agent asks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agents.definitions.server_grants import ALL, expand
from heartbit_site.base.toolspec import Effect, Label, Origin, ToolSpec

if TYPE_CHECKING:
    from agents.definitions.spec import AgentSpec, DefinitionSpec, ToolGrant

#: Labels that only together let an outsider's text send private data out.
_MIXED: Final = (Label.UNTRUSTED, Label.PRIVATE, Label.OUTBOUND)


def advice(spec: AgentSpec, tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    """Yield sentences about the settings of an agent that can be published.

    Args:
        spec: Settings of the agent.
        tools: Tools by name.
    """
    given = [tool for _, tool in _given(spec, tools)]
    sources = _mixture(given)
    if sources is None:
        return
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


def asks(spec: DefinitionSpec, tools: Mapping[str, ToolSpec], *, only: str = "") -> Iterator[str]:
    """Yield sentences that say which calls of an agent wait for a person.

    Args:
        spec: Settings of the agent.
        tools: Tools by name.
        only: The one tool that is called; empty: a model may call all of them.
    """
    given = [(grant, tool) for grant, tool in _given(spec, tools) if only in ("", tool.name)]
    always, sometimes = [], []
    for grant, tool in given:
        rule = grant.approval or getattr(spec, "approval", "never")  # of a workflow: its nodes' own
        if rule == "always" or (rule == "effects" and tool.effect is not Effect.PURE):
            always.append(tool)
        elif rule == "when":
            sometimes.append(tool)
    if always:
        yield f"{spec.name} asks before each call of {', '.join(_sources(always))}."
    if sometimes:
        yield f"{spec.name} asks before some calls of {', '.join(_sources(sometimes))}."
    sources = _mixture([tool for _, tool in given])
    if sources is not None and getattr(spec, "mixed_data", "") == "ask" and not only:
        yield (
            f"Once {spec.name} has read private data ({', '.join(sources[Label.PRIVATE])}) and "
            f"text by outsiders ({', '.join(sources[Label.UNTRUSTED])}), it asks before it sends "
            f"data out ({', '.join(sources[Label.OUTBOUND])})."
        )


def publish_again(agents: Sequence[str]) -> str:
    """Return a sentence about the agents whose tools changed after their publication."""
    return f"Publish again: {', '.join(agents)}." if agents else "No agent has to be published."


def _given(spec: DefinitionSpec, tools: Mapping[str, ToolSpec]) -> list[tuple[ToolGrant, ToolSpec]]:
    grants = expand(spec.tools, tools)
    return [(one, tools[one.name]) for one in grants if one.enabled and one.name in tools]


def _mixture(given: Sequence[ToolSpec]) -> dict[Label, list[str]] | None:
    """Return the tools by their labels, for people, if an outsider could have data sent out.

    One MCP server alone, with its own data and its own texts, is no mixture unless outsiders write
    or read there, too.
    """
    labelled = {label: [tool for tool in given if label in tool.labels] for label in _MIXED}
    if not all(labelled.values()):
        return None
    origins = {
        tool.source if _is_of_server(tool) and Label.SHARED not in tool.labels else ""
        for group in labelled.values()
        for tool in group
    }
    if len(origins) == 1 and "" not in origins:
        return None
    return {label: _sources(group) for label, group in labelled.items()}


def _sources(tools: Iterable[ToolSpec]) -> list[str]:
    """Return the names of tools for people, with those of an MCP server as ``server_*``."""
    names = (f"{tool.source}{ALL}" if _is_of_server(tool) else tool.name for tool in tools)
    return list(dict.fromkeys(names))


def _is_of_server(tool: ToolSpec) -> bool:
    return tool.origin is Origin.MCP and bool(tool.source)


def _is_private_server(tool: ToolSpec) -> bool:
    return _is_of_server(tool) and Label.PRIVATE in tool.labels
