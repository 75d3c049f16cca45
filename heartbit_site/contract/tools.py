"""Tools that agents can be given."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from heartbit_site.contract.model import Next, View
from heartbit_site.contract.operation import READ_AGENTS, Operation


class ToolOut(View):
    """A tool that agents can be given."""

    name: str
    description: str
    effect: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its arguments.")


class ToolsOut(View):
    """The installation's tools."""

    tools: list[ToolOut]
    next_cursor: Next


LIST_TOOLS = Operation(
    "tools.list_tools", "GET /tools", ToolsOut, "List tools", READ_AGENTS, rows="tools",
    command="`heartbit tools`",
)  # fmt: skip
