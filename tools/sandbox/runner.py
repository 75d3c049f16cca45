"""A process that runs programs for workers on other machines, over HTTP.

    HEARTBIT_SANDBOX_KEY=... python -m tools.sandbox.runner --bind 10.0.0.7

It needs no database, no Valkey and no secret except this key. docs/howto/code.md has the protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any, Final

import uvicorn

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.http.allow import parse_allow
from tools.sandbox import wire
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.docker import Docker
from tools.sandbox.probe import Probed
from tools.sandbox.program import Ended, Program, Sandbox, SandboxError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PORT: Final = 8300
READY: Final = "/v1/ready"
#: Seconds for a request's body to arrive, and for a program to wait for a free slot.
BODY_SECONDS: Final = 30.0
WAIT_SECONDS: Final = 15.0
CONNECTIONS: Final = 256


class Refused(Exception):
    """An error response without a program's result."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Runner:
    """The ASGI application.

    Args:
        sandbox: Probed before use, at most once a minute.
        key: Bearer key of all requests.
        slots: Number of concurrent programs.
    """

    def __init__(self, sandbox: Sandbox, *, key: str, slots: int) -> None:
        self._sandbox = sandbox
        self._expected = f"Bearer {key}".encode()
        self._slots = asyncio.Semaphore(slots)
        self._probed = Probed()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            self._raise_without_key(scope)
            body = await self._answer(scope, receive)
        except Refused as refused:
            await _send(send, refused.status, json.dumps({"detail": str(refused)}).encode())
        else:
            if body is not None:
                await _send(send, HTTPStatus.OK, body)

    def _raise_without_key(self, scope: Any) -> None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or not hmac.compare_digest(given[0], self._expected):
            raise Refused(HTTPStatus.UNAUTHORIZED, "The key is not valid for this runner.")

    async def _answer(self, scope: Any, receive: Receive) -> bytes | None:
        request = (scope["method"], scope["path"])
        if request == ("GET", READY):
            await self._raise_unless_held()
            return json.dumps({"sandbox": self._sandbox.name}).encode()
        if request != ("POST", wire.PROGRAMS):
            raise Refused(HTTPStatus.NOT_FOUND, f"Use POST {wire.PROGRAMS} or GET {READY}.")
        async with self._slot():
            try:
                program = await asyncio.to_thread(wire.read_program, await _body(receive))
            except ValueError as error:
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
            await self._raise_unless_held()
            ended = await self._run(program, receive)
        return None if ended is None else await asyncio.to_thread(wire.write_end, ended)

    @contextlib.asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE, "The runner is busy with other programs."
            ) from None
        try:
            yield
        finally:
            self._slots.release()

    async def _raise_unless_held(self) -> None:
        problem = await self._probed.problem(self._sandbox)
        if problem is not None:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, problem)

    async def _run(self, program: Program, receive: Receive) -> Ended | None:
        """Run a program to its end; return None if its client disconnects first."""
        running = asyncio.ensure_future(self._sandbox.run(program))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                return None
            return running.result()
        except SandboxError as error:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
        finally:
            leaving.cancel()
            running.cancel()
            await asyncio.wait({running, leaving})


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(HTTPStatus.BAD_REQUEST, "The request was not sent completely.")
                body += message.get("body", b"")
                if len(body) > wire.MAX_BYTES:
                    raise Refused(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                        f"A request may have at most {wire.MAX_BYTES} bytes.",
                    )
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Refused(
            HTTPStatus.REQUEST_TIMEOUT, f"The body did not arrive within {BODY_SECONDS:g} s."
        ) from None


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, status: HTTPStatus, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> int:
    """Serve until a signal; return 3 if it cannot start."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.sandbox.runner",
        description="Run programs for workers on other machines. Reads HEARTBIT_SANDBOX_KEY.",
    )
    parser.add_argument("--bind", default="127.0.0.1", help="address; default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    slots = 2 * (os.cpu_count() or 1)
    parser.add_argument(
        "--slots", type=int, default=slots, help=f"concurrent programs; default: {slots}"
    )
    parser.add_argument(
        "--image", default="", help="use containers of this Docker image; default: bubblewrap"
    )
    given = parser.parse_args()
    try:
        key = variables.SANDBOX_KEY.read()
        if not key:
            raise ConfigurationError("HEARTBIT_SANDBOX_KEY is not set: set it to a new key.")
        if given.slots < 1:
            raise ConfigurationError("--slots must be 1 or more.")
        allow = parse_allow(variables.HTTP_ALLOW.read())
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    uvicorn.run(
        Runner(
            Docker(given.image) if given.image else Bubblewrap(allow), key=key, slots=given.slots
        ),
        host=given.bind,
        port=given.port,
        lifespan="off",
        access_log=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
