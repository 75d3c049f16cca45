"""The process's one local host, on a loop and thread of its own, shared by all library runs.

A program's own loops come and go, and its callbacks may block, but the host must keep its
heartbeat, or other processes would treat its runs as orphaned.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from agents.runtime.execution.host import LocalHost
    from heartbit_site.first_start import Admin

T = TypeVar("T")

SLOTS: Final = 100
STOP_SECONDS: Final = 10.0


class SharedHost:
    """A started host; other threads reach it through ``submit``."""

    def __init__(self) -> None:
        from agents.runtime.execution.host import LocalHost  # noqa: PLC0415  needs Django set up

        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="heartbit", daemon=True)
        self._thread.start()

        async def start() -> LocalHost:
            host = LocalHost(slots=SLOTS)  # created on its loop
            await host.start()
            return host

        try:
            self.host = self.submit(start()).result()
        except BaseException:
            self._end()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the host's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def run_on_host(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the host's loop and await it on this one; it is never cancelled."""
        return await asyncio.shield(asyncio.wrap_future(self.submit(work)))

    def close(self) -> None:
        """Stop the host within a time limit; the sweepers finish if the database is unavailable."""
        try:
            self.submit(self.host.stop()).result(STOP_SECONDS)
        except TimeoutError:
            pass
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


_lock = threading.RLock()
_stage: SharedHost | None = None
_users = 0
_prepared = False


def acquire() -> SharedHost:
    """Return the process's host, starting it if necessary. Blocks; call ``release`` when done.

    Raises:
        ConfigurationError: The environment is not valid, or the database cannot be reached.
        EmbeddedError: The database's server cannot be started.
    """
    global _stage, _users
    with _lock:
        if _stage is not None and _stage.pid != os.getpid():
            _stage, _users = None, 0  # a fork has the variables, but not the thread
        if _stage is None:
            _prepare()
            _stage = SharedHost()
        _users += 1
        return _stage


def acquire_running() -> SharedHost | None:
    """Return the process's host if it runs, as ``acquire`` does, without blocking; else None."""
    global _users
    if not _lock.acquire(blocking=False):
        return None
    try:
        if _stage is None or _stage.pid != os.getpid():
            return None
        _users += 1
        return _stage
    finally:
        _lock.release()


def release() -> None:
    """End one use of the host, which stays running for the next."""
    global _users
    with _lock:
        _users -= 1


def close() -> None:
    """Stop the host, if it is not in use."""
    global _stage
    with _lock:
        if _stage is None or _users > 0 or _stage.pid != os.getpid():
            return
        stage, _stage = _stage, None
        stage.close()


def _prepare() -> None:
    """Start services, set up Django and migrate tables, once per process."""
    global _prepared
    if _prepared:
        return
    from django.db import connections  # noqa: PLC0415  slow to import

    from heartbit_site.bootstrap import prepare  # noqa: PLC0415

    admin = prepare()
    connections.close_all()  # this thread's own
    if admin is not None:
        _welcome(admin)
    # Before concurrent.futures closes its executors, which stopping needs; `atexit` is later.
    threading._register_atexit(_at_exit)  # type: ignore[attr-defined]
    _prepared = True


def _at_exit() -> None:
    global _users
    _users = 0
    close()


def _welcome(admin: Admin) -> None:
    if sys.stderr.isatty():
        way_in = f"with the password {admin.password} (shown only now: write it down)"
    else:  # may be a service's log
        way_in = f"(`heartbit users password {admin.name}` sets its password)"
    sys.stderr.write(f"Heartbit's first start: its admin is {admin.name} {way_in}.\n")
