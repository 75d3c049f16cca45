"""The hostile provider, in a process of its own: it sends what a run's task asks it to.

    python -m tests.chaos.model_faults.provider --ledger provider.jsonl

It prints one line of JSON with its addresses. Each request is one line of the ledger, on disk
before the first byte of the answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from tests.chaos.model_faults import wire
from tests.chaos.model_faults.replies import Asked, Hang, Reset, Step
from tests.chaos.model_faults.scripts import SCRIPTS
from tests.chaos.model_faults.wire import Answer, Dialect

#: mode/dialect/route/serial, and for a truncation the answer's kind and the offset.
CASE = re.compile(rb"\[\[case: (([\w-]+)/[^\]:]*)(?::([^\]]*))?\]\]")
ASSISTANT = re.compile(rb'"role":\s*"assistant"')
GARBAGE = b"\x00\xffthis is not TLS\r\n\r\n" * 10


class Provider:
    """The server and its ledger."""

    def __init__(self, ledger: IO[bytes]) -> None:
        self._ledger = ledger
        self._attempts: Counter[tuple[str, int]] = Counter()
        self.elsewhere = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until a reply leaves it unusable."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        path = head.split(b" ", 2)[1].decode()
        dialect: Dialect = "anthropic" if path.endswith("/messages") else "openai"
        case = CASE.search(body)
        name = case[1].decode() if case else "?"
        turn = len(ASSISTANT.findall(body))
        self._attempts[name, turn] += 1
        entry = {"at": time.time(), "case": name, "turn": turn, "path": path}
        self._write(entry)
        detail = (case[3] or b"").decode() if case else ""
        asked = Asked(dialect, name, detail, self._attempts[name, turn], self.elsewhere)
        if turn or case is None:
            writer.write(asked.whole(Answer(text=("Done.",))))
            return True
        sent = b""
        for step in SCRIPTS[case[2].decode()](asked):
            if not await _do(step, reader, writer):
                return False
            sent = step if isinstance(step, bytes) else sent
        await writer.drain()
        # Only after a whole answer may the connection carry another one.
        return sent.endswith(b"0\r\n\r\n") or b"content-length" in sent[:200]

    async def redirected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody followed a redirect: the worst case, an answer as if nothing were wrong."""
        head = await reader.readuntil(b"\r\n\r\n")
        self._write({"at": time.time(), "case": "elsewhere", "turn": 0, "path": str(head[:80])})
        stream = b"".join(wire.events("openai", Answer(text=(wire.SOUND,))))
        writer.write(wire.STREAM_HEAD + wire.CLOSE + stream)
        writer.close()

    def _write(self, entry: dict[str, object]) -> None:
        self._ledger.write(json.dumps(entry).encode() + b"\n")
        self._ledger.flush()
        os.fsync(self._ledger.fileno())


async def _do(step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Do one step; False when the client has gone or the connection was torn down."""
    match step:
        case bytes():
            writer.write(step)
            await writer.drain()
        case float():
            with suppress(TimeoutError):
                async with asyncio.timeout(step):
                    return bool(await reader.read(1))  # nothing: the client has gone
        case Hang():
            await reader.read(1)
            return False
        case Reset():
            peer = cast("socket.socket", writer.get_extra_info("socket"))
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()
            return False
    return True


async def _garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        await reader.read(1)
        writer.write(GARBAGE)
        await writer.drain()
    writer.close()


def _port(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _serve(path: Path) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    with path.open("ab") as ledger:
        provider = Provider(ledger)
        limit = 256 * 1024 * 1024
        main = await asyncio.start_server(provider.serve, "127.0.0.1", 0, limit=limit, backlog=4096)
        other = await asyncio.start_server(provider.redirected, "127.0.0.1", 0)
        garbage = await asyncio.start_server(_garbage, "127.0.0.1", 0)
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))  # bound and never listening: refused for as long as it lives
        provider.elsewhere = f"http://localhost:{_port(other)}"
        places = {
            "url": f"http://127.0.0.1:{_port(main)}",
            "elsewhere": provider.elsewhere,
            "garbage": f"https://127.0.0.1:{_port(garbage)}",
            "closed": f"http://127.0.0.1:{closed.getsockname()[1]}",
        }
        sys.stdout.write(json.dumps(places) + "\n")
        sys.stdout.flush()
        await stopped.wait()
        closed.close()


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="provider")
    parser.add_argument("--ledger", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args().ledger))


if __name__ == "__main__":
    main()
