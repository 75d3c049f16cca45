"""One server under supervision: found or started, watched, restarted, stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Final

from heartbit_site.embedded import locks, logs, probes
from heartbit_site.embedded.errors import EmbeddedError, os_errors

if TYPE_CHECKING:
    from heartbit_site.embedded.services import Service
    from heartbit_site.embedded.state import StateDirectory

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.01
_STABLE_SECONDS: Final = 10.0
_FIRST_DELAY_SECONDS: Final = 0.25
_LONGEST_DELAY_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class Server:
    """One supervised server, restarted whenever it ends unexpectedly.

    The server inherits its locked lock file, so the lock proves that it (or a child of it that
    still uses its data) lives, and its socket identifies its process. Nothing is concluded from
    process ids in files. A signal goes through a pid descriptor, which cannot hit another process.
    """

    def __init__(self, service: Service, state: StateDirectory) -> None:
        self._service = service
        self._state = state
        self._lock_path = state.lock(service.name)
        self._log_path = state.log(service.name)
        self._mutex = asyncio.Lock()
        self._pidfd: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._revival: asyncio.Task[None] | None = None
        # Only a server that once answered is restarted automatically.
        self._keep_running = False
        self._log_offset = 0
        self._started_at = 0.0
        self._delay = 0.0

    async def ensure(self) -> None:
        """Start the server if it does not run; return when it answers.

        Raises:
            EmbeddedError: It cannot be started, or does not answer in time.
        """
        async with self._mutex:
            deadline = _now() + _START_SECONDS
            started = False
            while self._pidfd is None or not await self._ready():
                # An adopted server may have ended during the probe: only one that was started here
                # has failed.
                if self._pidfd is None:
                    if started:
                        raise self._failure("did not start")
                    started = await self._find_or_start(deadline)
                elif _now() > deadline:
                    raise self._failure(f"does not answer after {_START_SECONDS:.0f} seconds")
                else:
                    await asyncio.sleep(_POLL_SECONDS)
            self._keep_running = True

    def adopt(self) -> None:
        """Take over a server that an earlier supervisor left running, if there is one."""
        if self._pidfd is not None or not self._service.socket:
            return
        pid = probes.peer_pid(self._service.socket)
        if pid is None:
            return
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        # Probe again: if it ended in between, the descriptor may belong to another process.
        if probes.peer_pid(self._service.socket) != pid:
            os.close(pidfd)
            return
        _log.info("%s: adopted process %s", self._service.title, pid)
        self._keep_running = True
        self._watch(pidfd)

    async def stop(self) -> None:
        """Stop the server and wait until no process uses its data.

        Raises:
            EmbeddedError: It survives even the second signal.
        """
        if self._revival:
            self._revival.cancel()
        async with self._mutex:
            self.adopt()
            self._keep_running = False
            for stop_signal in self._service.stop_signals:
                if self._pidfd is not None:
                    signal.pidfd_send_signal(self._pidfd, stop_signal)
                if await self._released():
                    return
        raise self._failure(f"did not stop within {_STOP_SECONDS:.0f} seconds")

    async def _ready(self) -> bool:
        return await asyncio.to_thread(probes.ready, self._service.name, self._state)

    async def _find_or_start(self, deadline: float) -> bool:
        """Take over the running server, or start one; return True if one was started."""
        with os_errors(self._state.path):
            lock = locks.acquire(self._lock_path)
            if lock is not None:
                await self._start(lock)
                return True
        self.adopt()
        if self._pidfd is None:
            if _now() > deadline:
                raise self._failure("cannot start while an earlier one still uses its data")
            await asyncio.sleep(_POLL_SECONDS)
        return False

    async def _start(self, lock: int) -> None:
        """Start the server; it inherits the lock, which is closed here."""
        try:
            child = await self._launch(lock)
        finally:
            os.close(lock)
        _log.info("%s: started process %s", self._service.title, child.pid)
        self._started_at = _now()
        self._child = child
        self._watch(os.pidfd_open(child.pid))

    async def _launch(self, lock: int) -> subprocess.Popen[bytes]:
        launch = await self._service.prepare(lock)
        self._log_offset = logs.size(self._log_path)
        log = logs.open_append(self._log_path)
        try:
            return subprocess.Popen(  # noqa: S603 -- programs of our own wheels, by absolute path
                launch.command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd="/",
                env=launch.environment,
                pass_fds=(lock,),
                start_new_session=True,
                umask=0o077,
                **launch.switch,
            )
        finally:
            os.close(log)

    def _watch(self, pidfd: int) -> None:
        self._pidfd = pidfd
        asyncio.get_running_loop().add_reader(pidfd, self._ended, pidfd)

    def _ended(self, pidfd: int) -> None:
        asyncio.get_running_loop().remove_reader(pidfd)
        os.close(pidfd)
        self._pidfd = None
        if self._child is not None:
            if self._child.stdin:
                self._child.stdin.close()
            self._child.wait()
            self._child = None
        if self._keep_running:
            _log.warning("%s: ended, restarting", self._service.title)
            if self._revival is None or self._revival.done():
                self._revival = asyncio.create_task(self._revive())

    async def _revive(self) -> None:
        """Restart the server, with growing pauses while it keeps failing."""
        if _now() - self._started_at > _STABLE_SECONDS:
            self._delay = 0.0
        while True:
            await asyncio.sleep(self._delay)
            self._delay = min(_LONGEST_DELAY_SECONDS, 2 * self._delay or _FIRST_DELAY_SECONDS)
            try:
                await self.ensure()
            except EmbeddedError as error:
                _log.warning("%s", error)
            else:
                return

    async def _released(self) -> bool:
        deadline = _now() + _STOP_SECONDS
        while _now() < deadline:
            if self._pidfd is None and not locks.held(self._lock_path):
                return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    def _failure(self, what: str) -> EmbeddedError:
        reason = logs.reason_since(self._log_path, self._log_offset)
        return EmbeddedError(f"{self._service.title} {what}: {reason} (log: {self._log_path}).")


def _now() -> float:
    return asyncio.get_running_loop().time()
