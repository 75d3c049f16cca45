"""The time that the client adds to a call over Streamable HTTP."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, Final

import httpx

from heartbit_site.base.http.allow import parse_allow
from tests.mcp.servers import connected, http_server, pinned
from tools.mcp.endpoints import McpEndpoint
from tools.mcp.pool import McpPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALLS: Final = 300
WARM: Final = 30
TARGET_MS: Final = 5.0
SECONDS = 20.0
_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_CALL = {"name": "echo", "arguments": {"text": "a"}, "_meta": _META}
_BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _CALL}
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": _VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "echo",
}


async def measured() -> dict[str, Any]:
    """Return medians in milliseconds: our calls, the same request by httpx, and between them."""
    with http_server() as url:
        endpoint = McpEndpoint(1, "shop", url=url)
        async with connected(endpoint) as connection:
            tool = pinned(connection, "echo")
        pool = McpPool(allow=parse_allow("127.0.0.1:*"))

        async def ours() -> None:
            await pool.call(endpoint, tool, {"text": "a"}, key="k", seconds=SECONDS)

        async with httpx.AsyncClient(trust_env=False) as client:

            async def bare() -> None:
                (await client.post(url, json=_BODY, headers=_HEADERS)).raise_for_status()

            here, floor = await _median_ms(ours), await _median_ms(bare)
        await pool.aclose()
    return {
        "calls": CALLS,
        "pass": here - floor <= TARGET_MS,
        "p50_ms": round(here, 2),
        "bare_httpx_p50_ms": round(floor, 2),
        "overhead_p50_ms": round(here - floor, 2),
    }


async def _median_ms(call: Callable[[], Awaitable[None]]) -> float:
    taken = []
    for _ in range(WARM + CALLS):
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[WARM:]) * 1_000
