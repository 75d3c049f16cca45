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
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.llm.testing import dialects
from agents.llm.testing.answers import Answer, make_answer
from agents.llm.testing.connection import LAST_CHUNK, STREAM_HEAD, Connection, Request, as_chunk
from agents.llm.testing.conversation import Conversation, read_conversation
from agents.llm.testing.ledger import Ledger, Stats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.llm.testing.directives import Fault

# In the form of both kinds of provider; any other model name is answered too.
_MODELS = {"object": "list", "data": [{"id": "wire", "object": "model"}], "has_more": False}
_RELEASE = "/release/"
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


@dataclass(frozen=True, slots=True)
class _Call:
    """One request with its answer."""

    connection: Connection
    dialect: str
    conversation: Conversation
    answer: Answer


class WireServer:
    """The server; ``running_server`` starts one."""

    def __init__(self, options: Options) -> None:
        self.stats = Stats()
        self.url = ""
        self._options = options
        self._ledger: Ledger | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._faults: dict[tuple[str, int], int] = {}
        self._held: dict[str, Callable[[], None]] = {}

    async def start(self) -> None:
        """Listen."""
        if self._options.ledger is not None:
            self._ledger = Ledger(self._options.ledger)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connect, "127.0.0.1", self._options.port, backlog=4096
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.close()
            await self._server.wait_closed()
        if self._ledger is not None:
            self._ledger.close()

    def _connect(self) -> Connection:
        connection = _Tracked(self._handle, self._connections)
        self._connections.add(connection)
        return connection

    def _handle(self, connection: Connection, request: Request) -> None:
        path = request.path.partition("?")[0]
        match request.method, path:
            case "GET", "/stats":
                connection.send_json(self.stats.to_json())
            case "POST", "/reset":
                self.stats = Stats()
                self._faults.clear()
                connection.send_json({})
            case "GET", "/v1/models":
                connection.send_json(_MODELS)
            case "POST", _ if path.startswith(_RELEASE):
                release = self._held.pop(path.removeprefix(_RELEASE), None)
                connection.send_json({}, status=200 if release else 404)
                if release:
                    release()
            case "POST", "/v1/chat/completions" | "/v1/messages":
                self._chat(connection, request, path=path)
            case _:
                error = {"type": "not_found_error", "message": f"no such path: {path}"}
                connection.send_json({"error": error}, status=404)

    def _chat(self, connection: Connection, request: Request, *, path: str) -> None:
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
            connection.send_json({"error": problem}, status=400)
            return
        self.stats.received(conversation.run, conversation.turn)
        connection.on_lost = self._disconnected
        call = _Call(connection, _DIALECTS[path], conversation, answer)
        begin = partial(self._begin, call)
        if self._ledger is None:
            begin()
            return
        entry = {
            "at": time.time(),
            "n": self.stats.requests,
            "path": path,
            "run": conversation.run,
            "turn": conversation.turn,
            "model": conversation.model,
            "digest": hashlib.sha256(request.body).hexdigest()[:32],
        }
        self._ledger.append(entry, then=begin)

    def _begin(self, call: _Call) -> None:
        script = call.conversation.script
        latency = self._options.latency_ms if script.latency_ms is None else script.latency_ms
        fault = script.fault
        if fault is not None and self._strikes(call, fault):
            call.connection.later(latency / 1000, partial(self._fail, call, fault))
        else:
            call.connection.later(latency / 1000, partial(self._answer, call))

    def _strikes(self, call: _Call, fault: Fault) -> bool:
        """Return True if a fault occurs now: always, or the first ``times`` times for this turn."""
        times = int(fault.options.get("times", "0"))
        key = (call.conversation.run, call.conversation.turn)
        self._faults[key] = self._faults.get(key, 0) + 1
        return not times or self._faults[key] <= times

    def _answer(self, call: _Call) -> None:
        openai = call.dialect == "openai"
        if not call.conversation.stream:
            make = dialects.openai_object if openai else dialects.anthropic_object
            self._answered(call)
            call.connection.send_json(make(call.answer))
            return
        events = self._events(call)
        script = call.conversation.script
        spread = self._options.stream_ms if script.stream_ms is None else script.stream_ms
        call.connection.send_events(
            events,
            gap_seconds=spread / 1000 / max(1, len(events) - 1),
            then=partial(self._answered, call),
        )

    def _events(self, call: _Call) -> list[bytes]:
        make = dialects.openai_events if call.dialect == "openai" else dialects.anthropic_events
        return make(call.answer)

    def _fail(self, call: _Call, fault: Fault) -> None:
        connection = call.connection
        match fault.kind:
            case "error":
                self._refuse(call, fault)
                return
            case "event":
                events = self._events(call)
                half = events[: len(events) // 2]
                error = dialects.error_event(call.dialect, kind=fault.value)
                if "held" in fault.options:
                    connection.write(STREAM_HEAD + as_chunk(b"".join(half)))
                    end = partial(self._end, connection, error)
                    self._held[call.conversation.run] = partial(connection.later, 0, end)
                else:
                    connection.send_events([*half, error], gap_seconds=0, then=self._failed)
                return
            case "cut":
                stream = as_chunk(b"".join(self._events(call)))
                connection.write((STREAM_HEAD + stream)[: int(fault.value)])
                connection.on_lost = None
                self._failed()
                connection.close()
            case "hang" if fault.value == "stream":
                events = self._events(call)
                connection.write(STREAM_HEAD + as_chunk(b"".join(events[: len(events) // 2])))
            case _:
                pass  # send nothing: the client has to time out

    def _end(self, connection: Connection, event: bytes) -> None:
        connection.write(as_chunk(event) + LAST_CHUNK)
        self._failed()
        connection.finished()

    def _refuse(self, call: _Call, fault: Fault) -> None:
        self._failed()
        status = int(fault.value)
        struck = self._faults[call.conversation.run, call.conversation.turn]
        has_wait = struck > int(fault.options.get("after", "0"))
        wait = fault.options.get("retry_after") if has_wait else None
        headers = f"retry-after: {wait.replace('_', ' ')}\r\n" if wait else ""
        if fault.options.get("page") == "html":
            page = f"<html><title>{status} Scripted page</title></html>".encode()
            call.connection.send_body(page, status=status, headers=headers, kind="text/html")
            return
        kind = fault.options.get("type", "scripted_error")
        body = dialects.error_object(call.dialect, kind=kind, message="asked for by the script")
        call.connection.send_json(body, status=status, headers=headers)

    def _answered(self, call: _Call) -> None:
        answer = call.answer
        self.stats.in_flight -= 1
        self.stats.answered += 1
        self.stats.prompt_tokens += answer.prompt_tokens
        self.stats.completion_tokens += answer.completion_tokens
        run = self.stats.runs.get(call.conversation.run)
        if run is not None:
            run.completion_tokens += answer.completion_tokens

    def _failed(self) -> None:
        self.stats.in_flight -= 1
        self.stats.failed += 1

    def _disconnected(self) -> None:
        self.stats.in_flight -= 1
        self.stats.disconnected += 1


class _Tracked(Connection):
    """A connection that the server can close when it stops."""

    def __init__(self, handler: Any, connections: set[Connection]) -> None:
        super().__init__(handler)
        self._all = connections

    def connection_lost(self, error: Exception | None) -> None:
        """Remove the connection."""
        self._all.discard(self)
        super().connection_lost(error)


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
