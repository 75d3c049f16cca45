"""The library's coroutines for code that is not async."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from heartbit_site.base import aio
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library.result import Result


def block_on(name: str, instead: str, start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Await a coroutine from code that is not async; callbacks are called in this thread."""
    if aio.is_loop_running():
        raise ConfigurationError(
            f"{name}() blocks, and an event loop is running here: write `await ...{instead}(...)`."
        )
    return asyncio.run(_woken_by_signals(start()))


async def _woken_by_signals(work: Coroutine[Any, Any, Result]) -> Result:
    """Await the work on a loop that every signal wakes.

    Python's own signal handler sets a flag, which the main thread checks when it next executes
    bytecode. A Ctrl-C that arrives just before the loop waits for its sockets, or that the system
    delivers to another thread, would be noticed only at the next event: a run that waits for its
    model would continue.
    """
    if threading.current_thread() is not threading.main_thread():
        return await work  # only the main thread handles signals
    loop = asyncio.get_running_loop()
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)  # noqa: FBT003  its only parameter
        writer.setblocking(False)  # noqa: FBT003
        former = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        loop.add_reader(reader, reader.recv, 4096)
        try:
            return await work
        finally:
            loop.remove_reader(reader)
            signal.set_wakeup_fd(former)
