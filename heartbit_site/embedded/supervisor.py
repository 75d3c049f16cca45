"""The supervisor: a detached process that runs the servers of one state directory.

Clients start it as `python -m heartbit_site.embedded.supervisor STATE`; the command returns 0 when
the control socket answers. A request is one line of JSON, `{"do": "ensure", "services": [...]}` or
`{"do": "stop"}`, and so is the reply, `{"error": null}` or `{"error": "<a sentence>"}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from heartbit_site.base import variables
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.embedded import locks, logs
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.postgres import Postgres
from heartbit_site.embedded.server import Server
from heartbit_site.embedded.services import Model, Valkey
from heartbit_site.embedded.state import SERVICES, ServiceName, StateDirectory

_LONGEST_TICK_SECONDS: Final = 1.0
_SHORTEST_TICK_SECONDS: Final = 0.05
# An earlier supervisor may still be stopping its servers.
_PREDECESSOR_SECONDS: Final = 90.0

_log = logging.getLogger(__name__)


class Supervisor:
    """The server of the control socket, until a stop is requested or no process uses the servers.

    Args:
        state: The state directory.
        linger: Seconds that the servers outlive their last user.
    """

    def __init__(self, state: StateDirectory, *, linger: float) -> None:
        self._state = state
        self._linger = linger
        self._servers: dict[ServiceName, Server] = {
            service.name: Server(service, state)
            for service in (Postgres(state), Valkey(state), Model(state))
        }
        self._connections: set[asyncio.Task[None] | None] = set()
        self._starts: set[asyncio.Future[list[BaseException | None]]] = set()
        self._stop_requested = asyncio.Event()
        self._stopped: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def run(self, on_listening: Callable[[], None]) -> None:
        """Run until stopped; call `on_listening` once the control socket answers."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_requested.set)
        for server in self._servers.values():
            server.adopt()
        self._state.run.mkdir(exist_ok=True)
        control = await asyncio.start_unix_server(self._serve, self._state.control_socket)
        on_listening()
        idle = asyncio.create_task(self._watch_users())
        await self._stop_requested.wait()
        # From here on, new users find no supervisor; the one they start waits until this one ends.
        control.close()
        self._state.control_socket.unlink(missing_ok=True)
        idle.cancel()
        for start in tuple(self._starts):
            start.cancel()
        self._stopped.set_result(await self._stop_servers())
        # Let the replies be sent.
        while self._connections:
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        self._connections.add(connection)
        try:
            # The client may be gone by the time of the reply, or send nothing: it only probed.
            with contextlib.suppress(ConnectionError):
                if line := await reader.readline():
                    reply = {"error": await self._answer(json.loads(line))}
                    writer.write(json.dumps(reply).encode() + b"\n")
                    await writer.drain()
        finally:
            self._connections.discard(connection)
            # A client of a stopping supervisor waits for the kernel to close the connection at
            # exit.
            if not self._stop_requested.is_set():
                writer.close()

    async def _answer(self, request: dict[str, object]) -> str | None:
        match request:
            case {"do": "stop"}:
                self._stop_requested.set()
                return await asyncio.shield(self._stopped)
            case {"do": "ensure"} if self._stop_requested.is_set():
                # Without an answer, the client tries the next supervisor.
                raise ConnectionAbortedError
            case {"do": "ensure", "services": [*services]}:
                return await self._ensure([name for name in SERVICES if name in services])
            case _:
                return f"The supervisor of {self._state.path} does not support this client."

    async def _ensure(self, services: list[ServiceName]) -> str | None:
        starts = asyncio.gather(
            *(self._servers[name].ensure() for name in services), return_exceptions=True
        )
        self._starts.add(starts)
        starts.add_done_callback(self._starts.discard)
        for outcome in await starts:
            if isinstance(outcome, EmbeddedError):
                _log.warning("%s", outcome)
                return str(outcome)
            if isinstance(outcome, BaseException):
                raise outcome
        return None

    async def _stop_servers(self) -> str | None:
        _log.info("stopping")
        stops = (server.stop() for server in self._servers.values())
        outcomes = await asyncio.gather(*stops, return_exceptions=True)
        return next((str(outcome) for outcome in outcomes if outcome), None)

    async def _watch_users(self) -> None:
        """Request a stop once no process has held the users' lock for the linger time."""
        loop = asyncio.get_running_loop()
        tick = min(_LONGEST_TICK_SECONDS, max(_SHORTEST_TICK_SECONDS, self._linger / 4))
        last_visit, idle_since = 0.0, loop.time()
        while True:
            await asyncio.sleep(tick)
            try:
                visit = self._state.users_lock.stat().st_mtime
                lock = locks.acquire(self._state.users_lock)
            except FileNotFoundError:
                _log.warning("the state directory is gone")
                break
            # A user touches the file, so a visit between two checks counts too.
            if lock is None or visit != last_visit:
                last_visit, idle_since = visit, loop.time()
            elif loop.time() - idle_since >= self._linger:
                # The lock stays held until this process ends: a new user waits for it.
                break
            if lock is not None:
                os.close(lock)
            for name in ("supervisor", *SERVICES):
                logs.bound(self._state.log(name))
        self._stop_requested.set()


def main() -> None:
    """Detach, become the state directory's only supervisor and run."""
    state = StateDirectory(Path(sys.argv[1]))
    log_to_stderr(logging.INFO, "%(asctime)s [%(process)d] %(message)s")
    os.umask(0o077)
    os.chdir("/")
    on_listening = _detach()
    # Held until the process ends.
    if locks.acquire(state.supervisor_lock, timeout=_PREDECESSOR_SECONDS) is None:
        sys.exit(f"Error: the previous supervisor of {state.path} does not end")
    asyncio.run(_run(state, on_listening))


async def _run(state: StateDirectory, on_listening: Callable[[], None]) -> None:
    await Supervisor(state, linger=variables.LINGER.read()).run(on_listening)


def _detach() -> Callable[[], None]:
    """Continue in a child process; the parent exits with 0 when the returned function is called.

    So the supervisor is not a child process that a client would have to reap.
    """
    read_end, write_end = os.pipe()
    if os.fork():
        os.close(write_end)
        os._exit(0 if os.read(read_end, 1) else 1)
    os.close(read_end)

    def on_listening() -> None:
        os.write(write_end, b"1")
        os.close(write_end)

    return on_listening


if __name__ == "__main__":
    main()
