"""Carry connections from a port of loopback to the sandbox's proxy: `bridge.py PORT SOCKET`.

Programs speak TCP to a proxy, but the sandbox's proxy is a Unix socket. The bridge returns when the
port is open, and leaves a process that ends with the sandbox. Only the standard library is
available.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

_MOST = 8  # concurrent connections, of two threads each


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _serve(client: socket.socket, path: str, room: threading.Semaphore) -> None:
    with room, client, socket.socket(socket.AF_UNIX) as way, contextlib.suppress(OSError):
        way.connect(path)
        back = threading.Thread(target=_carry, args=(way, client))
        back.start()
        _carry(client, way)
        back.join()


def main(port: int, path: str) -> None:
    """Open the port, and serve it in another process."""
    threading.stack_size(262_144)
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork():
        return
    room = threading.Semaphore(_MOST)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_serve, args=(client, path, room), daemon=True).start()


main(int(sys.argv[1]), sys.argv[2])
