"""Heartbit's own tools for the resources and prompts of an MCP server.

For each kind, one tool lists the items and another reads one. People can try them (`heartbit tools
try`). An agent reads a prompt like any other text by outsiders: as advice, never as an instruction
from Heartbit.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import mcp_types
from mcp import Client

from tools.mcp.rendering import prompt_as_text, resource_as_text

LIST_RESOURCES: Final = "resources/list"
READ_RESOURCE: Final = "resources/read"
LIST_PROMPTS: Final = "prompts/list"
GET_PROMPT: Final = "prompts/get"
NAMES: Final = frozenset({LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT})
_MOST_ARGUMENTS = 50
_URI: Final = {"type": "string", "maxLength": 2_000, "description": "Its URI."}
_PROMPT: Final = {"type": "string", "maxLength": 200, "description": "Name of the prompt."}
_ARGUMENTS: Final = {
    "type": "object",
    "maxProperties": _MOST_ARGUMENTS,
    "additionalProperties": {"type": "string", "maxLength": 20_000},
    "description": "Its arguments, by name; each is text.",
}


def own_tools(client: Client) -> dict[str, mcp_types.Tool]:
    """Return the tools for a server's resources and prompts by name, only for those it supports."""
    tools = []
    if client.server_capabilities.resources is not None:
        listed = "List the resources of this server: documents and other data, by URI."
        tools.append(_tool(LIST_RESOURCES, listed))
        tools.append(_tool(READ_RESOURCE, "Read a resource of this server.", uri=_URI))
    if client.server_capabilities.prompts is not None:
        listed = "List the prompts of this server: templates of tasks, and their arguments."
        filled = "Get the text of a prompt of this server, with its arguments filled in."
        tools.append(_tool(LIST_PROMPTS, listed))
        tools.append(_tool(GET_PROMPT, filled, name=_PROMPT, arguments=_ARGUMENTS))
    return {tool.name: tool for tool in tools}


def _tool(tool_name: str, description: str, /, **properties: dict[str, Any]) -> mcp_types.Tool:
    """Return a tool that only reads; the first of its parameters is required."""
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if properties:
        schema["required"] = [*properties][:1]
    # A resource's address is free text, and may lead the server elsewhere.
    hints = mcp_types.ToolAnnotations(
        read_only_hint=True, open_world_hint=None if tool_name == READ_RESOURCE else False
    )
    return mcp_types.Tool(
        name=tool_name, description=description, input_schema=schema, annotations=hints
    )


async def use_own_tool(client: Client, name: str, arguments: dict[str, Any]) -> str:
    """Return the result of one of ``own_tools``.

    Raises:
        MCPError: The server returned an error.
    """
    if name == READ_RESOURCE:
        return resource_as_text((await client.read_resource(arguments["uri"])).contents)
    if name == GET_PROMPT:
        given = arguments.get("arguments") or {}
        return prompt_as_text(await client.get_prompt(arguments["name"], given))
    if name == LIST_PROMPTS:
        prompts = await client.list_prompts()
        lines, more = [_prompt(each) for each in prompts.prompts], prompts.next_cursor
    else:
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
        lines = [_resource(each.uri, each) for each in resources.resources]
        lines += [_resource(each.uri_template, each) for each in templates.resource_templates]
        more = resources.next_cursor or templates.next_cursor
    if more:
        lines.append("The list is incomplete: there are more.")
    return "\n".join(lines) or "The server has none."


def _prompt(prompt: mcp_types.Prompt) -> str:
    names = islice(prompt.arguments or (), _MOST_ARGUMENTS)
    given = ", ".join(one.name if one.required else f"{one.name}?" for one in names)
    said = " ".join((prompt.description or prompt.title or "").split())[:200]
    return f"{prompt.name}({given})" + (f": {said}" if said else "")


def _resource(address: str, about: mcp_types.Resource | mcp_types.ResourceTemplate) -> str:
    told = " ".join((about.description or about.title or about.name).split())
    return f"{address}: {told[:200]}"
