"""IMAP connection with limits on time and memory.

``imaplib`` reads literals and lines of any size, and its timeout restarts with each byte. The
limits are enforced here, in the methods that it documents for overriding; it still parses the
answers.
"""

from __future__ import annotations

import ssl
import time
from imaplib import IMAP4
from typing import TYPE_CHECKING, cast

from agents.errors import MailboxError

if TYPE_CHECKING:
    import socket

    from agents.inbound.route import MailRoute

READ_SECONDS = 20.0
VISIT_SECONDS = 60.0
_LEAVE_SECONDS = 2.0
MOST_LITERAL = 12 * 1024 * 1024
_MOST_OF_LINE = 4 * 1024 * 1024  # one line numbers all mails that a search finds
_MOST_OF_ANSWER = 16 * 1024 * 1024
_PIECE = 65_536


class Connection(IMAP4):
    """Connection for one visit to a mailbox.

    Attributes:
        said: The server's text on the last command.
    """

    def __init__(self, route: MailRoute, *, tls: bool) -> None:
        self._route = route
        self._tls = tls
        self._ends = time.monotonic() + VISIT_SECONDS
        self._buffer = bytearray()
        self._left = _MOST_OF_ANSWER
        self.said = ""
        super().__init__(route.host, route.port)

    def open(self, host: str = "", port: int = 0, timeout: float | None = None) -> None:
        """Connect on the checked route, whatever the arguments are."""
        self.host, self.port = self._route.host, self._route.port
        self.is_readonly = True
        self.sock = self._route.connect(self._seconds)
        if self._tls:
            self.sock = self._secured()

    def start_tls(self) -> None:
        """Switch to TLS.

        Raises:
            MailboxError: The server offers no STARTTLS, or sent data before TLS began.
        """
        if "STARTTLS" not in self.capabilities:
            raise MailboxError(
                f"The mail server {self.host} offers no STARTTLS at port {self.port}: use tls, "
                "usually at port 993."
            )
        if self.state != "NONAUTH" or self.command("STARTTLS") != "OK":
            raise MailboxError(f"The mail server {self.host} does not begin with STARTTLS.")
        if self._buffer:  # a third party on the way has sent this
            raise MailboxError(f"The mail server {self.host} spoke on before TLS had begun.")
        self.sock = self._secured()
        self.untagged_responses.clear()
        # Anyone may have sent what was offered without TLS.
        self.command("CAPABILITY")
        offered = b" ".join(one for one in self.response("CAPABILITY")[1] if isinstance(one, bytes))
        self.capabilities = tuple(offered.decode("ascii", "replace").upper().split())

    def command(self, name: str, *words: str | bytes) -> str:
        """Send a command and return its result, OK or NO; earlier responses are discarded."""
        self.untagged_responses.clear()
        self._left = _MOST_OF_ANSWER
        answer, said = self.xatom(name, *cast("tuple[str, ...]", words))
        return self._ended(answer, said)

    def authenticate_plain(self, user: str, password: str) -> str:
        """Log in with SASL PLAIN (RFC 4616), which can carry every character."""
        secret = f"\0{user}\0{password}".encode()
        self.untagged_responses.clear()
        self._left = _MOST_OF_ANSWER
        try:
            self.authenticate("PLAIN", lambda _: secret)
        except self.abort:
            raise
        except self.error as error:  # so it reports a refusal, too
            return self._ended("NO", [str(error).encode("utf-8", "replace")])
        return "OK"

    def read(self, size: int) -> bytes:
        """Read a literal.

        Raises:
            MailboxError: The literal is too large.
        """
        if size > MOST_LITERAL:
            raise MailboxError(
                f"The mail server {self.host} wants to send {size} bytes at once: at most "
                f"{MOST_LITERAL} are taken."
            )
        while len(self._buffer) < size and self._more():
            pass
        return self._taken(size)

    def readline(self) -> bytes:
        """Read a line, with its end.

        Raises:
            MailboxError: The line is too long.
        """
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _MOST_OF_LINE:
                raise self._too_much()
            if not self._more():
                return self._taken(searched)
        return self._taken(end + 1)

    def send(self, data: bytes) -> None:  # type: ignore[override]  # only bytes come
        """Send all data within the time that is left.

        Raises:
            MailboxError: The time is over; imaplib would take a timeout for a broken connection.
        """
        try:
            self.sock.settimeout(self._seconds())
            self.sock.sendall(data)
        except TimeoutError:
            raise self._too_late() from None

    def log_out(self) -> None:
        """Log out, without waiting long for an answer that tells nothing."""
        self._ends = min(self._ends, time.monotonic() + _LEAVE_SECONDS)
        self.logout()

    def shutdown(self) -> None:
        """Close the socket, even if it is closed already."""
        self.sock.close()

    def _secured(self) -> socket.socket:
        """Wrap the socket in TLS, and verify the host's certificate."""
        self.sock.settimeout(self._seconds())
        try:
            return ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
        except (OSError, ValueError):
            self.sock.close()
            raise

    def _more(self) -> bool:
        """Wait for bytes; return False at the end of the stream."""
        self.sock.settimeout(self._seconds())
        try:
            piece = self.sock.recv(_PIECE)
        except TimeoutError:
            self._seconds()  # says so if it was the whole visit's
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

    def _ended(self, answer: str, said: list[bytes]) -> str:
        self.said = said[-1].decode("utf-8", "replace") if said and said[-1] else ""
        return answer

    def _too_late(self) -> MailboxError:
        return MailboxError(
            f"The visit to the mail server {self.host} took longer than {VISIT_SECONDS:g} seconds."
        )

    def _too_much(self) -> MailboxError:
        return MailboxError(f"The mail server {self.host} sends more than any answer has.")
