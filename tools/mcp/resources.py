"""Resources of an MCP server, as two tools: one lists them, one reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types

from tools.mcp.rendering import resource_as_text

if TYPE_CHECKING:
    from mcp import Client

LIST: Final = "resources/list"
READ: Final = "resources/read"
_HINTS = mcp_types.ToolAnnotations(read_only_hint=True)
_LONGEST_ADDRESS = 2_000


def resource_tools(client: Client) -> dict[str, mcp_types.Tool]:
    """Return the tools for a server's resources; none if it has no resources."""
    if client.server_capabilities.resources is None:
        return {}
    address = {"type": "string", "maxLength": _LONGEST_ADDRESS, "description": "Its URI."}
    return {
        LIST: mcp_types.Tool(
            name=LIST,
            description="List the resources of this server: documents and other data, by URI.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            annotations=_HINTS,
        ),
        READ: mcp_types.Tool(
            name=READ,
            description="Read a resource of this server.",
            input_schema={
                "type": "object",
                "properties": {"uri": address},
                "required": ["uri"],
                "additionalProperties": False,
            },
            annotations=_HINTS,
        ),
    }


async def use_resources(client: Client, name: str, arguments: dict[str, Any]) -> str:
    """Return the result of one of the two tools.

    Raises:
        MCPError: The server answered with an error.
    """
    if name == READ:
        found = await client.read_resource(arguments["uri"])
        return resource_as_text(found.contents)
    listed = await client.list_resources()
    lines = [_line(each.uri, each) for each in listed.resources]
    templates = await client.list_resource_templates()
    lines += [_line(each.uri_template, each) for each in templates.resource_templates]
    if listed.next_cursor or templates.next_cursor:
        lines.append("The list is incomplete: there are more.")
    return "\n".join(lines) or "The server has none."


def _line(address: str, about: mcp_types.Resource | mcp_types.ResourceTemplate) -> str:
    told = " ".join((about.description or about.title or about.name).split())
    return f"{address}: {told[:200]}"
