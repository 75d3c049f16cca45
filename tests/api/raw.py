"""A client that speaks to a server as no library would: in half sentences, slowly, too much."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from tests.api.server import WebServer

PATIENCE_SECONDS = 30.0


class Raw:
    """One connection.

    Args:
        server: Whom it is to.
        buffer: Bytes that the kernel takes in unread; 0: as many as it likes.
        address: The client's; Linux has all that begin with 127.
    """

    def __init__(self, server: WebServer, *, buffer: int = 0, address: str = "127.0.0.1") -> None:
        self.socket = socket.socket()
        self.socket.bind((address, 0))
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE_SECONDS)
        parts = urlsplit(server.url)
        self.socket.connect((parts.hostname, parts.port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, text: str | bytes) -> None:
        self.socket.sendall(text.encode() if isinstance(text, str) else text)

    def head(self, line: str, *headers: str) -> None:
        """Say the whole header of a request."""
        self.say("\r\n".join([f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]))

    def flood(self, piece: bytes, most: int) -> int:
        """Say the same until the server cuts it off; how many bytes were taken, up to ``most``."""
        taken = 0
        try:
            while taken < most:
                taken += self.socket.send(piece)
        except ConnectionError:
            pass
        return taken

    def drip(self, text: bytes, *, every: float) -> bytes:
        """Say a byte now and then until something comes back, or the end; what came."""
        for byte in text:
            if select.select([self.socket], [], [], every)[0]:
                break
            self.say(bytes([byte]))
        return self.heard()

    def heard(self) -> bytes:
        """Everything that comes until the server closes the connection."""
        found = b""
        try:
            while piece := self.socket.recv(65536):
                found += piece
        except ConnectionResetError:
            pass
        return found

    def answer(self) -> bytes:
        """The first answer, with as much of its body as its header announces."""
        found = b""
        while b"\r\n\r\n" not in found:
            piece = self.socket.recv(65536)
            assert piece, found
            found += piece
        head, _, body = found.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
        length = int(lengths[0].split(b":")[1]) if lengths else 0
        while len(body) < length:
            body += self.socket.recv(65536)
        return head + b"\r\n\r\n" + body


def ends_within(raw: Raw, seconds: float) -> bool:
    """Whether the server closes the connection by then."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([raw.socket], [], [], left)[0]:
            return False
        try:
            if not raw.socket.recv(65536):
                return True
        except ConnectionResetError:
            return True
    return False
