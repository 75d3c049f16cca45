"""Prompts of an MCP server, as two tools: one lists them, one gets one, filled in.

A person finds them with the tools (`heartbit tools try`), an agent that is given them reads the
text of a prompt as any other text by outsiders: a prompt is advice, never an instruction of ours.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import mcp_types

from tools.mcp.rendering import prompt_as_text

if TYPE_CHECKING:
    from mcp import Client

LIST: Final = "prompts/list"
GET: Final = "prompts/get"
_HINTS = mcp_types.ToolAnnotations(read_only_hint=True)
_LONGEST_NAME = 200
_LONGEST_VALUE = 20_000
_MOST_ARGUMENTS = 50


def prompt_tools(client: Client) -> dict[str, mcp_types.Tool]:
    """Return the tools for a server's prompts; none if it has no prompts."""
    if client.server_capabilities.prompts is None:
        return {}
    value = {"type": "string", "maxLength": _LONGEST_VALUE}
    return {
        LIST: mcp_types.Tool(
            name=LIST,
            description="List the prompts of this server: templates of tasks, and their arguments.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            annotations=_HINTS,
        ),
        GET: mcp_types.Tool(
            name=GET,
            description="Get the text of a prompt of this server, with its arguments filled in.",
            input_schema={
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "maxLength": _LONGEST_NAME,
                        "description": "Name of the prompt.",
                    },
                    "arguments": {
                        "type": "object",
                        "maxProperties": _MOST_ARGUMENTS,
                        "additionalProperties": value,
                        "description": "Its arguments, by name; each is text.",
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            annotations=_HINTS,
        ),
    }


async def use_prompts(client: Client, name: str, arguments: dict[str, Any]) -> str:
    """Return the result of one of the two tools.

    Raises:
        MCPError: The server answered with an error.
    """
    if name == GET:
        found = await client.get_prompt(arguments["name"], arguments.get("arguments") or {})
        return prompt_as_text(found)
    listed = await client.list_prompts()
    lines = [_line(prompt) for prompt in listed.prompts]
    if listed.next_cursor:
        lines.append("The list is incomplete: there are more.")
    return "\n".join(lines) or "The server has none."


def _line(prompt: mcp_types.Prompt) -> str:
    names = islice(prompt.arguments or (), _MOST_ARGUMENTS)
    given = ", ".join(one.name if one.required else f"{one.name}?" for one in names)
    said = " ".join((prompt.description or prompt.title or "").split())[:200]
    return f"{prompt.name}({given})" + (f": {said}" if said else "")
