"""The client that the conformance suite drives: ``python -m ... URL``."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tests.mcp.servers import connected, pinned
from tools.mcp.endpoints import McpEndpoint

SECONDS = 20.0
EXAMPLES: dict[str, Any] = {"number": 5, "integer": 5, "string": "text", "boolean": True}


async def call_all(endpoint: McpEndpoint) -> None:
    """Connect, and call every tool once."""
    async with connected(endpoint, SECONDS) as connection:
        for name, tool in connection.offer.tools.items():
            schema = tool.input_schema.get("properties", {})
            arguments = {each: EXAMPLES.get(schema[each].get("type"), {}) for each in schema}
            await connection.call(pinned(connection, name), arguments, key=name, seconds=SECONDS)


if __name__ == "__main__":
    asyncio.run(call_all(McpEndpoint(1, "conformance", url=sys.argv[-1])))
