"""The embedded services from a command's point of view: keep them, or let them go."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from heartbit_site.embedded import client, locks
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.state import SERVICES, ServiceName, StateDirectory
from heartbit_site.environment import Environment

LOOK_SECONDS: Final = 5.0
MOMENT_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


def wanted(environment: Environment) -> list[ServiceName]:
    """Return the services that Heartbit has to run itself, because no URL names others."""
    return [name for name in SERVICES if name in environment.embedded]


@contextmanager
def kept(environment: Environment) -> Iterator[None]:
    """Look after the embedded services from a thread meanwhile.

    Their supervisor revives a server that died; this revives the supervisor. It has ended when
    this returns, so that nothing is started again that the caller then stops; but for a server
    that does not answer, the wait is a moment at most.
    """
    if not environment.embedded:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_keep, args=(environment, over), name="services", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(MOMENT_SECONDS)


def _keep(environment: Environment, over: threading.Event) -> None:
    while not over.wait(LOOK_SECONDS):
        try:
            client.ensure(wanted(environment), environment.state)
        except EmbeddedError as error:
            logger.error("%s", error)


def in_use(state: StateDirectory) -> bool:
    """Return True if a process uses the services; the caller counts until it called `release`."""
    try:
        lock = locks.acquire(state.users_lock)
    except OSError:
        return False  # there is no state directory, or it is another user's: `stop` says so
    if lock is None:
        return True
    os.close(lock)
    return False
