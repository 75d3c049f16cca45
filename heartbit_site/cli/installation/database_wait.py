"""Start of a service while its database is unavailable: it waits, and says so."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from heartbit_site.base.database_faults import database_fault
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.output import note

LOOK_SECONDS: Final = 0.5
SAY_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 3
#: Words of a server that answers, and whose answer no waiting changes; it gives no code with them.
_STAYING: Final = ("authentication failed", "does not exist", "pg_hba.conf", "no password supplied")


def wait_for_database(url: str) -> None:
    """Return when the database accepts connections, or refuses them for a reason that stays.

    Raises:
        SystemExit: The process was asked to end (SIGTERM).
    """
    said_at = float("-inf")
    with _ending_on_sigterm():
        while (reason := _problem(url)) is not None:
            if time.monotonic() - said_at >= SAY_SECONDS:
                said_at = time.monotonic()
                note(f"Waiting for PostgreSQL at {_place(url)} ({reason}) ...")
            time.sleep(LOOK_SECONDS)


def _problem(url: str) -> str | None:
    """Return why the database is unavailable; None: it is not, or waiting does not help."""
    try:
        psycopg.connect(_with_limit(url)).close()
    except psycopg.Error as error:
        fault = database_fault(error)
        if fault is None or any(words in str(error) for words in _STAYING):
            return None
        return fault.reason
    return None


def _with_limit(url: str) -> str:
    """Return the address with a limit on the time to connect, if it has none."""
    if "connect_timeout" in conninfo_to_dict(url):
        return url
    return make_conninfo(url, connect_timeout=CONNECT_SECONDS)


def _place(url: str) -> str:
    """Return the address of a database without its user and password."""
    parts = conninfo_to_dict(url)
    return f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"


@contextlib.contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """End on SIGTERM; the first process of a container would ignore it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(OK)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
