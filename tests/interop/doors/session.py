"""One session: everything stands, each client of the plan is driven, and its row written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tests.interop import installed, rows
from tests.interop.doors.heartbit import started
from tests.interop.doors.plan import CLIENTS

if TYPE_CHECKING:
    from tests.interop.doors.heartbit import Heartbit
    from tests.interop.doors.plan import Client


def drive(wanted: str) -> int:
    """Drive the clients whose name has ``wanted`` in it; 1 when one failed."""
    chosen = [client for client in CLIENTS if wanted in client.name]
    if not chosen:
        sys.stderr.write(f"no client is called {wanted}\n")
        return 2
    installed.install()
    with started() as heartbit:
        passed = [rows.write(driven(client, heartbit)) for client in chosen]
    return 0 if all(passed) else 1


def driven(client: Client, heartbit: Heartbit) -> dict[str, Any]:
    """Drive a client, and return its row."""
    row: dict[str, Any] = {
        "client": client.name,
        "version": installed.version_found(client.package),
        "calls": 0,
        "pass": False,
    }
    try:
        row |= {"calls": client.drive(heartbit), "pass": True}
    except Exception as error:  # noqa: BLE001  whatever went wrong is the result
        row["why"] = f"{type(error).__name__}: {error}"[:600]
    if client.declines:
        row["declines"] = dict(client.declines)
    return row
