"""Card of a remote agent, and the tool that it becomes.

What people accept and agents are given is the tool's definition: it has the agent's name, address,
description and skills, so a change of one of them waits for a person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

import mcp_types
from pydantic import BaseModel, Field, ValidationError

from heartbit_site.base.untrusted import clean_text
from heartbit_site.base.web_url import split_web_url
from tools.mcp.listing import MAX_DESCRIPTION_CHARACTERS, Offer
from tools.mcp.remote_agents.client import RemoteAgent

#: Name of the tool at the server; its name in the workspace is ``SERVER_send``.
SEND: Final = "send"
_MOST_SKILLS: Final = 50
_MOST_ABOUT: Final = 300  # characters of one skill
_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "maxLength": 200_000,
            "description": "The task in full: the agent knows nothing else of this run.",
        },
        "data": {
            "type": "object",
            "description": "Data that belongs to the task, or is all of it.",
        },
    },
    "additionalProperties": False,
}


class _Interface(BaseModel):
    url: str
    protocol_binding: Annotated[str, Field(alias="protocolBinding")] = ""
    protocol_version: Annotated[str, Field(alias="protocolVersion")] = ""
    tenant: str = ""


class _Skill(BaseModel):
    name: str = ""
    description: str = ""


class _Card(BaseModel):
    name: str
    description: str = ""
    version: str = ""
    interfaces: Annotated[list[_Interface], Field(alias="supportedInterfaces")] = []
    skills: list[_Skill] = []


async def read_card(agent: RemoteAgent) -> tuple[RemoteAgent, Offer, dict[str, str]]:
    """Return a remote agent with the address that its card has, its tool, and its facts.

    Raises:
        McpError: The card cannot be read, or names no address that can be used.
    """
    try:
        card = _Card.model_validate(await agent.get_card())
    except ValidationError:
        raise agent.error(
            "has no card at this address: give the address of one, which often ends with "
            "/.well-known/agent-card.json"
        ) from None
    for one in card.interfaces:
        is_ours = one.protocol_binding == "JSONRPC" and one.protocol_version.startswith("1.")
        if is_ours and split_web_url(one.url) is not None:
            break
    else:
        raise agent.error("has no interface of A2A 1.0 with JSON-RPC, the only one that is spoken")
    found = replace(agent, url=one.url, tenant=one.tenant)
    tool = mcp_types.Tool(
        name=SEND,
        description=_about(card, one)[:MAX_DESCRIPTION_CHARACTERS],
        input_schema=dict(_PARAMETERS),
        annotations=mcp_types.ToolAnnotations(idempotent_hint=True),
    )
    facts = {
        "protocol": f"A2A {one.protocol_version}",
        "server": card.name,
        "version": card.version,
    }
    facts |= {"address": one.url}
    return found, Offer({SEND: tool}, {}), {name: text[:200] for name, text in facts.items()}


def _about(card: _Card, interface: _Interface) -> str:
    place = f"{interface.url}, tenant {interface.tenant}" if interface.tenant else interface.url
    lines = [
        f"The remote agent {_line(card.name)} ({place}): {_line(card.description)}",
        "Give it a task, and get its result.",
    ]
    for skill in card.skills[:_MOST_SKILLS]:
        lines.append(f"- {_line(skill.name)}: {_line(skill.description)[:_MOST_ABOUT]}")
    return "\n".join(filter(None, lines))


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())
