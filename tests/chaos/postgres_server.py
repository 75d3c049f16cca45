"""The embedded PostgreSQL, stopped for a while although a supervisor watches over it.

The supervisor is frozen meanwhile, so it notices only afterwards that its server has ended, and
starts it again as it does for a server that crashed.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connections

from heartbit_site.embedded import client, probes
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

#: PostgreSQL's own words for how it is to end: ``immediate`` loses no commit, but needs recovery.
MODES = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


@contextmanager
def stopped(mode: str) -> Iterator[None]:
    """No server for the length of the block; it answers again at the end.

    Args:
        mode: One of ``MODES``.
    """
    state = settings.ENVIRONMENT.state
    status = client.status(state)
    supervisor, server = status.supervisor, status.services["postgres"].pid
    assert supervisor is not None
    assert server is not None
    connections.close_all()
    os.kill(supervisor, signal.SIGSTOP)
    try:
        _end(server, MODES[mode])
        yield
    finally:
        os.kill(supervisor, signal.SIGCONT)
    wait_until(lambda: probes.ready("postgres", state), seconds=60, what="PostgreSQL is back")


def _end(pid: int, number: signal.Signals) -> None:
    """Send the signal and wait for the end; its parent cannot reap it now."""
    descriptor = os.pidfd_open(pid)
    try:
        began = time.monotonic()
        signal.pidfd_send_signal(descriptor, number)
        ended, _, _ = select.select([descriptor], [], [], 30)
        assert ended, f"PostgreSQL did not end within {time.monotonic() - began:.0f} s"
    finally:
        os.close(descriptor)
