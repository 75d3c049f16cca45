"""Probes of a running server: its readiness and its process id."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from heartbit_site.embedded.state import ServiceName, StateDirectory

_TIMEOUT_SECONDS: Final = 1.0
_POSTMASTER_STATUS_LINE: Final = 7


def ready(service: ServiceName, state: StateDirectory) -> bool:
    """Return True if a service answers requests now (within a second)."""
    try:
        match service:
            case "postgres":
                return _postgres(state)
            case "valkey":
                return _valkey(state.valkey_socket)
            case "model":
                return _model(state)
    except OSError:
        return False


def listening(path: Path) -> bool:
    """Return True if a process listens on a unix socket."""
    try:
        _connect(path).close()
    except OSError:
        return False
    return True


def peer_pid(path: Path) -> int | None:
    """Return the id of the process that listens on a unix socket, None when there is none.

    The kernel answers, so the id can be neither stale nor recycled at the time of the call.
    """
    try:
        with _connect(path) as connection:
            credentials = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
    except OSError:
        return None
    # 0 stands for a process of another pid namespace.
    return struct.unpack("3i", credentials)[0] or None


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_TIMEOUT_SECONDS)
        connection.connect(os.fspath(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _postgres(state: StateDirectory) -> bool:
    # The socket accepts long before the server does, during crash recovery for instance. This file
    # is pg_ctl's evidence; while a process listens, it belongs to the running server.
    if not listening(state.postgres_socket):
        return False
    lines = (state.data("postgres") / "postmaster.pid").read_text().splitlines()
    return lines[_POSTMASTER_STATUS_LINE:] == ["ready   "]


def _valkey(path: Path) -> bool:
    with _connect(path) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith((b"+PONG", b"-ERR max"))


def _model(state: StateDirectory) -> bool:
    url = state.model_url()
    if url is None:
        return False
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port or 80), _TIMEOUT_SECONDS):
        return True
