"""Filter for a server's list of tools: a malformed tool does not invalidate the others.

The SDK validates a list as a whole, and refuses all of it for one tool that violates the protocol,
so such tools are removed from the message before the SDK reads it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_types
from anyio.abc import ObjectReceiveStream
from mcp.client._transport import ReadStream, Transport, TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from tools.mcp.listing import MAX_NAME_CHARACTERS, MAX_TOOLS

_LIST: Final = "tools/list"
#: Fields that some versions of the protocol require besides the tools.
_BESIDE: Final[tuple[str, ...]] = ("resultType", "ttlMs", "cacheScope")


class ToolScreen(ObjectReceiveStream[SessionMessage | Exception]):
    """Messages of a server, without malformed tools.

    Attributes:
        version: Protocol version that tools are checked against, once negotiated.
    """

    version: str = ""
    _messages: ReadStream[SessionMessage | Exception]

    def __init__(self) -> None:
        self._malformed: dict[str, str] = {}

    @asynccontextmanager
    async def over(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        """Open a transport with this screen applied to the server's messages."""
        async with transport as (self._messages, outgoing):
            yield self, outgoing

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        item = await self._messages.receive()
        if self.version and isinstance(item, SessionMessage):
            match item.message:
                case mcp_types.JSONRPCResponse(result={"tools": list(tools)} as result):
                    if len(tools) <= MAX_TOOLS:  # a longer list is refused
                        beside = {name: result[name] for name in _BESIDE if name in result}
                        result["tools"] = [one for one in tools if self._is_usable(beside, one)]
        return item

    async def aclose(self) -> None:
        """Close the server's stream."""
        await self._messages.aclose()

    def take_malformed(self) -> dict[str, str]:
        """Return why tools were removed since the last call, by name."""
        taken, self._malformed = self._malformed, {}
        return taken

    def _is_usable(self, beside: dict[str, Any], tool: object) -> bool:
        try:
            validate_server_result(_LIST, self.version, {**beside, "tools": [tool]})
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            if first["loc"][:1] != ("tools",):
                return True  # the tool is not the cause
            name = tool.get("name") if isinstance(tool, dict) else None
            where = ".".join(str(each) for each in first["loc"][2:]) or "the tool"
            label = name if isinstance(name, str) and name else f"tool {len(self._malformed) + 1}"
            if len(self._malformed) < MAX_TOOLS:  # a server may send lists that no one asked for
                self._malformed[label[:MAX_NAME_CHARACTERS]] = f"{where}: {first['msg']}"
            return False
        return True
