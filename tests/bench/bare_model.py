"""The model server's own time: its streamed answer over a bare socket that is kept open.

Overhead is wall time minus this time for each model call on the critical path.
"""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.bench import calls
from tests.bench.workloads import LEAD, SOLO, SYSTEM_PROMPT, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.llm.messages import ToolDefinition

_END = b"0\r\n\r\n"
_TIMEOUT_SECONDS = 60


class BareModel:
    """A client of one socket, without HTTP library, parser or runtime. One thread at a time."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host = f"{address.hostname}:{address.port}"
        self._socket = socket.create_connection(
            (address.hostname or "", address.port or 0), timeout=_TIMEOUT_SECONDS
        )
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> BareModel:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def take(self, workload: Workload) -> float:
        """Seconds of the first model call of a workload."""
        offered = {SOLO: (), LEAD: calls.DELEGATE}.get(workload.agent, calls.TOOLS)
        return self.ask([{"role": "user", "content": workload.task}], offered)

    def ask(self, messages: Sequence[dict[str, Any]], tools: Sequence[ToolDefinition]) -> float:
        """Seconds from the request's first byte to the answer's last.

        Raises:
            RuntimeError: The server closed the connection or refused.
        """
        body = json.dumps(self._body(messages, tools)).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {self._host}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        request = head.encode() + body
        received = bytearray()
        began = time.perf_counter()
        self._socket.sendall(request)
        while not received.endswith(_END):
            data = self._socket.recv(65536)
            if not data:
                raise RuntimeError("the model server closed the connection under measurement")
            received += data
        seconds = time.perf_counter() - began
        if not received.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the model server refused: {bytes(received[:200])!r}")
        return seconds

    @staticmethod
    def _body(
        messages: Sequence[dict[str, Any]], tools: Sequence[ToolDefinition]
    ) -> dict[str, Any]:
        offered = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
        system = {"role": "system", "content": SYSTEM_PROMPT}
        body: dict[str, Any] = {"model": "bench", "messages": [system, *messages], "stream": True}
        return {**body, "tools": offered} if offered else body


def long_conversation(task: str, turns: int) -> list[dict[str, Any]]:
    """What a run of ``current_time`` calls sends to be answered in this turn (LONG)."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for number in range(turns - 1):
        function = {"name": "current_time", "arguments": "{}"}
        call = {"id": f"call_wire{number}_0", "type": "function", "function": function}
        result = "2026-11-22T04:28:11+00:00 (UTC)"
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return messages
