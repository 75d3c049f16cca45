"""Calls of connectors through the pipeline, as a model makes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

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


async def done(
    name: str,
    *,
    credentials: dict[str, CredentialType] | None = None,
    allow: str = "",
    stored: dict[str, bytes] | None = None,
    **arguments: object,
) -> ToolResult:
    """Call a tool with credentials by parameter; ``allow`` as in HEARTBIT_HTTP_ALLOWLIST."""
    async with GuardedClient(allow=parse_allow(allow)) as http:
        result = await call(
            TOOLS,
            json.dumps(arguments),
            name=name,
            http=http,
            credentials=credentials or {},
            artifacts=stored,
            max_output_bytes=1_000_000,
        )
    assert isinstance(result, ToolResult)
    return result


async def value(name: str, **options: Any) -> Any:
    """Call a tool that succeeds; return its value, or its text if that is no JSON."""
    result = await done(name, **options)
    assert result.status == "ok", result.content
    try:
        return json.loads(result.content)
    except ValueError:
        return result.content


async def error(name: str, **options: Any) -> str:
    """Call a tool that fails; return what the model reads."""
    result = await done(name, **options)
    assert result.status in ("error", "invalid"), result.content
    return result.content
