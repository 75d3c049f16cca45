"""MCP: a call of an agent's tool at ``/mcp``, over one connection a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from tests.bench.doors import Aim
from tests.bench.doors.rest import Rest

if TYPE_CHECKING:
    from tests.bench.rest_client import RestClient
    from tests.bench.workloads import Workload

_VERSION: Final = "2026-07-28"
_PREFIX: Final = "io.modelcontextprotocol/"


class McpCall(Rest):
    """A program with a key, which uses an agent as a tool."""

    name = "MCP tool call"
    place = 4
    aims: ClassVar = {"W1": Aim("REST in one request", more_ms=1.0)}

    def takes(self, workload: Workload) -> bool:
        """See ``Door``."""
        return workload.messages == 1

    def answered(self, client: RestClient, body: dict[str, Any]) -> tuple[UUID, Any]:
        """See ``Rest``."""
        meta = {f"{_PREFIX}protocolVersion": _VERSION, f"{_PREFIX}clientCapabilities": {}}
        given = {"name": body["agent"], "arguments": {"task": body["task"]}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "MCP-Method": "tools/call",
            "MCP-Name": body["agent"],
        }
        found = client.ask("POST", "/mcp", message, root="", **headers)["result"]
        text = found["content"][0]["text"]
        return UUID(found["_meta"]["heartbit/run"]), {"status": "success", "text": text}
