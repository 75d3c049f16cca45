"""Health of a worker over HTTP, for supervisors: `GET /live` and `GET /ready`.

The server runs on the loop that executes runs, so an answer proves that the loop runs.
"""

from __future__ import annotations

import asyncio
import json
import time
from http import HTTPStatus
from typing import Final

from agents.runtime.execution import worker
from agents.runtime.execution.readiness import OK
from heartbit_site.base import aio

HEAD_BYTES: Final = 8192
#: Time limits for the client's request, and for the checks together with the response.
HEAD_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 5.0
#: Concurrent connections; each further one closes the oldest.
CONNECTIONS: Final = 64
#: Seconds for which the result of a check of the services is reused.
FRESH_SECONDS: Final = 1.0


class HealthServer:
    """A server of health checks, while its `with` block runs.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0 for any free one.

    Attributes:
        url: Address of the server.
    """

    url: str

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        # Connections, oldest first; True for one that has sent its request.
        self._open: dict[asyncio.StreamWriter, bool] = {}
        self._checked_at = float("-inf")
        self._checks: dict[str, str] = {}
        self._checking = asyncio.Lock()

    def __enter__(self) -> HealthServer:
        serving = asyncio.start_server(self._serve, self._host, self._port, limit=HEAD_BYTES)
        self._server = aio.run(serving)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        aio.run(self._stop())

    async def _stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._make_room()
        self._open[writer] = False
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            self._open[writer] = True
            async with asyncio.timeout(ANSWER_SECONDS):
                status, body = await self._answer(head)
                writer.write(_response(status, body))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # a client that is slow, disconnected, or does not speak HTTP
        finally:
            self._open.pop(writer, None)
            writer.close()

    def _make_room(self) -> None:
        """Close a connection if all are in use: the oldest without a request, else the oldest.

        So a client that holds connections open cannot keep out a supervisor's check.
        """
        if len(self._open) >= CONNECTIONS:
            silent = (one for one, has_asked in self._open.items() if not has_asked)
            oldest = next(silent, next(iter(self._open)))
            self._open.pop(oldest)
            oldest.transport.abort()

    async def _answer(self, head: bytes) -> tuple[HTTPStatus, dict[str, object]]:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if path not in {b"/live", b"/ready"}:
            return HTTPStatus.NOT_FOUND, {"status": "not found"}
        if method not in {b"GET", b"HEAD"}:
            return HTTPStatus.METHOD_NOT_ALLOWED, {"status": "method not allowed"}
        if path == b"/live":
            return HTTPStatus.OK, {"status": "live"}
        checks = await self._check()
        if any(found != OK for found in checks.values()):
            return HTTPStatus.SERVICE_UNAVAILABLE, {"status": "not ready", "checks": checks}
        return HTTPStatus.OK, {"status": "ready", "checks": checks}

    async def _check(self) -> dict[str, str]:
        async with self._checking:
            if time.monotonic() - self._checked_at > FRESH_SECONDS:
                self._checks = await worker.check_readiness()
                self._checked_at = time.monotonic()
            return self._checks


def _response(status: HTTPStatus, body: dict[str, object]) -> bytes:
    content = json.dumps(body).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + content
