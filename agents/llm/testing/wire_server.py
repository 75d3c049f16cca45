"""Server that speaks Chat Completions and Messages, for tests and benchmarks without a model.

Run it as its own process; it prints one line of JSON with its URL::

    python -m agents.llm.testing.wire_server --port 0 --latency-ms 200 --ledger calls.jsonl

or inside a test::

    async with running_server(Options(latency_ms=5)) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}

Requests control their answers, see ``directives``. ``GET /stats`` returns the counters,
``POST /reset`` clears them, and ``GET /v1/models`` lists one model, for ``heartbit doctor``.
``POST /release/<run>`` sends the run's held events, and answers 404 if none is held.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.llm.testing import dialects
from agents.llm.testing.answers import Answer, make_answer
from agents.llm.testing.connection import (
    LAST_CHUNK,
    STREAM_HEAD,
    Request,
    as_chunk,
    send_body,
    send_json,
    serve_client,
)
from agents.llm.testing.conversation import Conversation, read_conversation
from agents.llm.testing.directives import CLOCK, Fault
from agents.llm.testing.ledger import Ledger, Stats

# In the form of both kinds of provider; requests for other models are answered, too.
_MODELS = {"object": "list", "data": [{"id": "wire", "object": "model"}], "has_more": False}
_RELEASE = "/release/"
_CLOCK = CLOCK.encode()
_DIALECTS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}


@dataclass(frozen=True, slots=True)
class Options:
    """Defaults of the server for requests without directives.

    Attributes:
        port: Port on 127.0.0.1; 0 takes a free one.
        latency_ms: Silence before the first event.
        stream_ms: Time over which the further events are spread.
        chunks: Number of pieces of a text.
        ledger: File for one JSON line per request, on disk before the answer begins.
    """

    port: int = 0
    latency_ms: float = 0.0
    stream_ms: float = 0.0
    chunks: int = 4
    ledger: Path | None = None


class WireServer:
    """The server; ``running_server`` starts one."""

    def __init__(self, options: Options) -> None:
        self.stats = Stats()
        self.url = ""
        self.clients: set[asyncio.Task[None]] = set()
        self._options = options
        self._ledger: Ledger | None = None
        self._server: asyncio.Server | None = None
        self._faults: dict[tuple[str, int], int] = {}
        self._held: dict[str, asyncio.Event] = {}

    async def start(self) -> None:
        """Listen."""
        if self._options.ledger is not None:
            self._ledger = Ledger(self._options.ledger)
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._options.port, backlog=4096, limit=2**20
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
            for client in self.clients:
                client.cancel()
            await self._server.wait_closed()
            await asyncio.gather(*self.clients, return_exceptions=True)
        if self._ledger is not None:
            self._ledger.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.create_task(serve_client(self._handle, reader, writer))
        self.clients.add(client)
        client.add_done_callback(self.clients.discard)

    async def _handle(self, request: Request, writer: asyncio.StreamWriter) -> None:
        path = request.path.partition("?")[0]
        match request.method, path:
            case "GET", "/stats":
                send_json(writer, self.stats.to_json())
            case "POST", "/reset":
                self.stats = Stats()
                self._faults.clear()
                send_json(writer, {})
            case "GET", "/v1/models":
                send_json(writer, _MODELS)
            case "POST", _ if path.startswith(_RELEASE):
                release = self._held.pop(path.removeprefix(_RELEASE), None)
                send_json(writer, {}, status=200 if release else 404)
                if release:
                    release.set()
            case "POST", "/v1/chat/completions" | "/v1/messages":
                await self._chat(request, writer, path=path)
            case _:
                error = {"type": "not_found_error", "message": f"no such path: {path}"}
                send_json(writer, {"error": error}, status=404)

    async def _chat(self, request: Request, writer: asyncio.StreamWriter, *, path: str) -> None:
        try:
            body: Any = json.loads(request.body)
            conversation = read_conversation(body)
            answer = make_answer(
                conversation,
                number=self.stats.requests,
                body_bytes=len(request.body),
                chunks=self._options.chunks,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the wire server cannot read this request: {error!r}"
            problem = {"type": "invalid_request_error", "message": message}
            send_json(writer, {"error": problem}, status=400)
            return
        stats = self.stats
        stats.received(conversation.run, conversation.turn)
        try:
            if self._ledger is not None:
                await self._ledger.append(
                    {
                        "at": time.time(),
                        "n": stats.requests,
                        "path": path,
                        "run": conversation.run,
                        "turn": conversation.turn,
                        "model": conversation.model,
                        "digest": hashlib.sha256(request.body).hexdigest()[:32],
                    }
                )
            await self._begin(writer, conversation, answer, dialect=_DIALECTS[path])
        except asyncio.CancelledError:
            stats.disconnected += 1
            raise
        finally:
            stats.in_flight -= 1

    async def _begin(
        self, writer: asyncio.StreamWriter, conversation: Conversation, answer: Answer, dialect: str
    ) -> None:
        script, stats = conversation.script, self.stats
        latency = self._options.latency_ms if script.latency_ms is None else script.latency_ms
        strike = self._strike(conversation)
        await asyncio.sleep(latency / 1000)
        make = dialects.openai_events if dialect == "openai" else dialects.anthropic_events
        if script.fault is not None and strike:
            await self._fail(writer, script.fault, make(answer), strike, conversation.run, dialect)
            stats.failed += 1
            return
        if conversation.stream:
            events = make(answer)
            spread = self._options.stream_ms if script.stream_ms is None else script.stream_ms
            await _send_events(writer, events, gap_seconds=spread / 1000 / max(1, len(events) - 1))
        else:
            whole = dialects.openai_object if dialect == "openai" else dialects.anthropic_object
            send_json(writer, whole(answer))
        stats.sent(conversation.run, answer.prompt_tokens, answer.completion_tokens)

    def _strike(self, conversation: Conversation) -> int:
        """Return the number of the turn's fault that occurs now; 0 after ``times`` faults."""
        fault = conversation.script.fault
        if fault is None:
            return 0
        key = (conversation.run, conversation.turn)
        self._faults[key] = self._faults.get(key, 0) + 1
        times = int(fault.options.get("times", "0"))
        return 0 if times and self._faults[key] > times else self._faults[key]

    async def _fail(
        self,
        writer: asyncio.StreamWriter,
        fault: Fault,
        events: list[bytes],
        strike: int,
        run: str,
        dialect: str,
    ) -> None:
        half = STREAM_HEAD + as_chunk(b"".join(events[: len(events) // 2]))
        match fault.kind:
            case "error":
                _refuse(writer, fault, strike, dialect)
            case "event":
                writer.write(half)
                if "held" in fault.options:
                    self._held[run] = asyncio.Event()
                    await self._held[run].wait()
                error = dialects.error_event(dialect, kind=fault.value)
                writer.write(as_chunk(error) + LAST_CHUNK)
            case "cut":
                stream = STREAM_HEAD + as_chunk(b"".join(events))
                writer.write(stream[: int(fault.value)])
                writer.close()
            case _:
                if fault.value == "stream":
                    writer.write(half)
                await asyncio.Event().wait()  # the client has to time out


async def _send_events(
    writer: asyncio.StreamWriter, events: list[bytes], *, gap_seconds: float
) -> None:
    if gap_seconds <= 0:
        # In one piece: each write would wake the client, which would distort the workload.
        writer.write(STREAM_HEAD + _timed_chunk(b"".join(events)) + LAST_CHUNK)
        return
    writer.write(STREAM_HEAD)
    for event in events:
        writer.write(_timed_chunk(event))
        await asyncio.sleep(gap_seconds)
    writer.write(LAST_CHUNK)


def _timed_chunk(events: bytes) -> bytes:
    return as_chunk(events.replace(_CLOCK, b"%.4f;" % time.time()))


def _refuse(writer: asyncio.StreamWriter, fault: Fault, strike: int, dialect: str) -> None:
    status = int(fault.value)
    has_wait = strike > int(fault.options.get("after", "0"))
    wait = fault.options.get("retry_after") if has_wait else None
    headers = f"retry-after: {wait.replace('_', ' ')}\r\n" if wait else ""
    if fault.options.get("page") == "html":
        page = f"<html><title>{status} Scripted page</title></html>".encode()
        send_body(writer, page, status=status, headers=headers, kind="text/html")
        return
    kind = fault.options.get("type", "scripted_error")
    body = dialects.error_object(dialect, kind=kind, message="asked for by the script")
    send_json(writer, body, status=status, headers=headers)


@asynccontextmanager
async def running_server(options: Options | None = None) -> AsyncIterator[WireServer]:
    """Run a server on the current loop."""
    server = WireServer(options or Options())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _serve(options: Options) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running_server(options) as server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> None:
    """Run the server until it is stopped."""
    parser = argparse.ArgumentParser(prog="wire_server", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0: a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="before the first event")
    parser.add_argument("--stream-ms", type=float, default=0.0, help="over all further events")
    parser.add_argument("--chunks", type=int, default=4, help="pieces of a text")
    parser.add_argument("--ledger", type=Path, help="file for one synced JSON line a request")
    asyncio.run(_serve(Options(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
