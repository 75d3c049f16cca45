"""The only network access of a sandbox: an HTTP proxy on a Unix socket, for granted hosts.

Each connection is opened by the guarded client's backend: a granted name that resolves to a private
address or uses a closed port is refused, as for every tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path
from typing import Final

import httpcore

from heartbit_site.base.http.allow import AddressPolicy, AllowRule
from heartbit_site.base.http.backend import GuardedBackend, Resolver, system_resolver
from heartbit_site.base.http.errors import BlockedAddressError
from heartbit_site.base.scratch import scratch_folder
from tools.sandbox.program import MEGABYTE, SandboxError

CONNECTIONS: Final = 32  # at once
MAX_BYTES: Final = 256 * MEGABYTE  # of one program, both ways
_HEAD_BYTES: Final = 16_384
_HEAD_SECONDS: Final = 10.0
_CONNECT_SECONDS: Final = 10.0
_PIECE: Final = 65_536
_TUNNEL: Final = re.compile(rb"CONNECT ([A-Za-z0-9_.-]{1,253}):(\d{1,5}) HTTP/1\.[01]")
_PLAIN: Final = re.compile(
    rb"([A-Z]{1,16}) http://([A-Za-z0-9_.-]{1,253})(?::(\d{1,5}))?(/[!-~]*)? HTTP/1\.[01]"
)
_HOP: Final = (b"connection:", b"proxy-", b"keep-alive:")  # headers meant for the proxy


class _RefusedError(Exception):
    """The program requested something that was not granted, or that is unavailable."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _Proxy:
    def __init__(self, hosts: Collection[str], backend: GuardedBackend) -> None:
        self._hosts = frozenset(hosts)
        self._backend = backend
        self._room = MAX_BYTES
        self.serving: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the program."""
        task = asyncio.current_task()
        if task is None:
            raise TypeError("a connection is served by a task")
        if len(self.serving) == CONNECTIONS:  # each uses file descriptors of the worker
            writer.close()
            return
        self.serving.add(task)
        try:
            upstream, first = await self._opened(reader)
        except _RefusedError as refused:
            body = f"{refused}\n".encode()
            head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        else:
            try:
                await self._carry(reader, writer, upstream, first)
            finally:
                await upstream.aclose()
        finally:
            self.serving.discard(task)
            writer.close()

    async def _opened(
        self, reader: asyncio.StreamReader
    ) -> tuple[httpcore.AsyncNetworkStream, bytes]:
        """Open the requested connection; return it with the request to send there."""
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            raise _RefusedError("408 Request Timeout", "The request did not arrive.") from None
        except asyncio.LimitOverrunError:
            raise _RefusedError("431 Too Large", "The request's head is too large.") from None
        host, port, first = _read(head)
        if host not in self._hosts:
            granted = ", ".join(sorted(self._hosts))
            raise _RefusedError(
                "403 Forbidden", f"{host} is not granted to this program; granted: {granted}."
            )
        try:
            return await self._backend.connect_tcp(host, port, _CONNECT_SECONDS), first
        except BlockedAddressError as error:
            raise _RefusedError("403 Forbidden", str(error)) from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise _RefusedError("502 Bad Gateway", f"{host} cannot be reached: {error}") from None

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: httpcore.AsyncNetworkStream,
        first: bytes,
    ) -> None:
        """Forward bytes both ways until one side closes, or the program has used up its share."""

        async def up() -> None:
            while data := await reader.read(_PIECE):
                self._count(data)
                await upstream.write(data)

        async def down() -> None:
            while data := await upstream.read(_PIECE):
                self._count(data)
                writer.write(data)
                await writer.drain()

        ended = (ConnectionError, httpcore.NetworkError)
        with contextlib.suppress(*ended):
            if first:
                await upstream.write(first)
            else:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            ways = {asyncio.ensure_future(up()), asyncio.ensure_future(down())}
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in done:
                    way.result()
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.wait(ways)

    def _count(self, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise ConnectionError(f"more than {MAX_BYTES} bytes")


@contextlib.asynccontextmanager
async def proxy(
    hosts: Collection[str], *, allow: Sequence[AllowRule], resolver: Resolver = system_resolver
) -> AsyncIterator[Path]:
    """Serve the hosts on a Unix socket, and yield its path; at the end all connections are closed.

    Args:
        hosts: Names in lower case, without wildcards.
        allow: The operator's exceptions beyond the public internet.
        resolver: Replaced in tests.

    Raises:
        SandboxError: The socket cannot be created.
    """
    own = _Proxy(hosts, GuardedBackend(AddressPolicy(allow=tuple(allow)), resolver=resolver))
    with scratch_folder("proxy") as directory:
        # The sandbox's user connects through the socket's name, which no other user can read.
        path = directory / secrets.token_hex(12)
        try:
            server = await asyncio.start_unix_server(own.serve, path, limit=_HEAD_BYTES)
        except OSError as error:
            raise SandboxError(f"The sandbox's proxy cannot be started ({error}).") from error
        path.chmod(0o666)
        directory.chmod(0o711)
        try:
            yield path
        finally:
            server.close()
            for task in tuple(own.serving):
                task.cancel()
            if own.serving:
                await asyncio.wait(tuple(own.serving))


def _read(head: bytes) -> tuple[str, int, bytes]:
    """Return host, port, and the request to send there (nothing, for a tunnel)."""
    line, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if tunnel := _TUNNEL.fullmatch(line):
        return _host(tunnel[1]), int(tunnel[2]), b""
    plain = _PLAIN.fullmatch(line)
    if plain is None:
        raise _RefusedError("400 Bad Request", "Use CONNECT, or an http:// URL.")
    kept = [header for header in headers if not header.lower().startswith(_HOP)]
    first = plain[1] + b" " + (plain[4] or b"/") + b" HTTP/1.1"
    # One connection serves one host: the next request of the program comes through here again.
    return (
        _host(plain[2]),
        int(plain[3] or 80),
        b"\r\n".join((first, *kept, b"Connection: close", b"", b"")),
    )


def _host(name: bytes) -> str:
    return name.decode().lower().rstrip(".")
