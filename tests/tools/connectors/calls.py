"""Calls of the connectors through the pipeline, as a model makes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.tools.calls import call
from tools import agent_tools
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from heartbit_site.base.credentials import CredentialType

TOOLS = Registry()
TOOLS.discover([agent_tools])
CANARY = "canary-5d1e-secret"


async def done(
    name: str,
    *,
    allow: str = "127.0.0.1:*",
    port: int = 80,
    credentials: dict[str, CredentialType] | None = None,
    stored: dict[str, bytes] | None = None,
    **arguments: object,
) -> ToolResult:
    """The result of one call; a secret is never in it. The port is open on public addresses."""
    async with GuardedClient(allow=parse_allow(allow), ports={80, 443, port}) as http:
        result = await call(
            TOOLS,
            json.dumps(arguments),
            name=name,
            http=http,
            credentials=credentials or {},
            artifacts=stored,
        )
    assert isinstance(result, ToolResult)
    assert CANARY not in result.content
    return result


def refusal(result: ToolResult) -> str:
    """The sentence of a call that failed, without the error's name."""
    assert result.status == "error", result.content
    _, _, said = result.content.partition(": ")
    assert said.endswith((".", "?")), said
    assert "\n" not in said
    return said
