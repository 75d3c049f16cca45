"""Bytes to and from a mail server, with limits on time and memory.

The standard library's clients read lines of any size, and their timeout restarts with each byte.
"""

from __future__ import annotations

import socket
import ssl
import time

from tools.mail.server import MailRoute, MailServerError

READ_SECONDS = 20.0
VISIT_SECONDS = 60.0
_MOST_OF_LINE = 4 * 1024 * 1024  # one line lists the numbers of all mails found by a search
_MOST_OF_ANSWER = 16 * 1024 * 1024
_PIECE = 65_536


class MailStream:
    """A connection on a checked route, for one visit.

    Args:
        route: Route of the connection.
        tls: True to begin with TLS.
        visit_seconds: Limit of the whole visit; ``VISIT_SECONDS`` if it is less.

    Attributes:
        sock: The socket in use, over TLS once ``secure`` has returned.

    Raises:
        MailServerError: The visit takes too long.
        OSError: The server does not accept the connection, or its certificate is not valid.
    """

    def __init__(self, route: MailRoute, *, tls: bool, visit_seconds: float) -> None:
        self.host, self.port = route.host, route.port
        self._visit_seconds = min(VISIT_SECONDS, visit_seconds)
        self._ends = time.monotonic() + self._visit_seconds
        self._buffer = bytearray()
        self._left = _MOST_OF_ANSWER
        self.sock: socket.socket = route.connect(self._seconds)
        if tls:
            self.secure()

    def secure(self) -> None:
        """Switch to TLS, and verify the host's certificate.

        Raises:
            MailServerError: The server sent data before TLS began.
            OSError: The certificate is not valid, or the server speaks no TLS.
        """
        if self._buffer:  # data that a third party on the network may have sent
            raise MailServerError(f"The mail server {self.host} sent data before TLS had begun.")
        self.sock.settimeout(self._seconds())
        try:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
        except (OSError, ValueError):
            self.sock.close()
            raise

    def begin_answer(self) -> None:
        """Count the next answer's bytes from zero."""
        self._left = _MOST_OF_ANSWER

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes, fewer at the end of the stream.

        Raises:
            MailServerError: The answer is too large, or the visit takes too long.
        """
        while len(self._buffer) < size and self._more():
            pass
        return self._taken(size)

    def readline(self) -> bytes:
        """Read a line, with its end.

        Raises:
            MailServerError: The line or the answer is too long, or the visit takes too long.
        """
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _MOST_OF_LINE:
                raise self._too_much()
            if not self._more():
                return self._taken(searched)
        return self._taken(end + 1)

    def send(self, data: bytes) -> None:
        """Send all data within the remaining time.

        Raises:
            MailServerError: The visit takes too long.
        """
        try:
            self.sock.settimeout(self._seconds())
            self.sock.sendall(data)
        except TimeoutError:
            raise self._too_late() from None

    def hurry(self, seconds: float) -> None:
        """Shorten the visit to end within this time."""
        self._ends = min(self._ends, time.monotonic() + seconds)

    def close(self) -> None:
        """Close the socket, even if it is closed already."""
        self.sock.close()

    def _more(self) -> bool:
        """Wait for bytes; return False at the end of the stream."""
        self.sock.settimeout(self._seconds())
        try:
            piece = self.sock.recv(_PIECE)
        except TimeoutError:
            self._seconds()  # raises if the whole visit's limit has passed
            raise
        self._buffer += piece
        self._left -= len(piece)
        if self._left < 0:
            raise self._too_much()
        return bool(piece)

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _seconds(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._too_late()
        return min(left, READ_SECONDS)

    def _too_late(self) -> MailServerError:
        return MailServerError(
            f"The visit to the mail server {self.host} took longer than "
            f"{self._visit_seconds:g} seconds."
        )

    def _too_much(self) -> MailServerError:
        return MailServerError(f"The mail server {self.host} sent an oversized response.")
