"""Tools as they were published with a version, including those this process cannot call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.models import ToolCall
from agents.querysets import shown_tool
from heartbit_site.base.schema_references import in_schema_order
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions import catalogue as definitions

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition


def pinned_tools(definition: AgentDefinition) -> dict[str, ToolSpec]:
    """Return the tools of a version by name, each as it was published."""
    found = {tool.name: definitions.find(tool.name, tool.pinned) for tool in definition.tools}
    return {name: spec for name, spec in found.items() if spec is not None}


def pinned_tool(call: ToolCall) -> ToolSpec | None:
    """Return a call's tool as the run's version pinned it; None if it has no such tool.

    Args:
        call: Tool call; the version of its run is read.
    """
    name = shown_tool(call)
    for tool in call.run.version.snapshot.get("tools", ()):
        if tool["name"] == name:
            return definitions.find(name, tool["hash"])
    return None


def in_tool_order(call: ToolCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the order in which the call's tool declares them.

    Args:
        call: Tool call; the version of its run is read.
        arguments: Arguments to order.
    """
    spec = pinned_tool(call)
    return in_schema_order(arguments, spec.parameters if spec is not None else None)
