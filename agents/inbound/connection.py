"""A connection to an IMAP server that takes no more time and memory than it may.

``imaplib`` reads literals and lines of any number, and its timeout starts anew with each byte. So
what is read and how long is decided here, in the methods that it documents for that; it keeps the
parsing of answers.
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
    """One visit.

    Attributes:
        said: What the server said of the last command.
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
        """Go on over TLS.

        Raises:
            MailboxError: The server offers none, or spoke on before it began.
        """
        if "STARTTLS" not in self.capabilities:
            raise MailboxError(
                f"The mail server {self.host} offers no STARTTLS at port {self.port}: use tls, "
                "usually at port 993."
            )
        if self.state != "NONAUTH" or self.command("STARTTLS") != "OK":
            raise MailboxError(f"The mail server {self.host} does not begin with STARTTLS.")
        if self._buffer:  # somebody on the way put words into its mouth
            raise MailboxError(f"The mail server {self.host} spoke on before TLS had begun.")
        self.sock = self._secured()
        self.untagged_responses.clear()
        # What was offered without TLS may be anybody's.
        self.command("CAPABILITY")
        offered = b" ".join(one for one in self.response("CAPABILITY")[1] if isinstance(one, bytes))
        self.capabilities = tuple(offered.decode("ascii", "replace").upper().split())

    def command(self, name: str, *words: str | bytes) -> str:
        """Send a command, and wait for its end: OK, NO; what came before is forgotten."""
        self.untagged_responses.clear()
        self._left = _MOST_OF_ANSWER
        answer, said = self.xatom(name, *cast("tuple[str, ...]", words))
        return self._ended(answer, said)

    def authenticate_plain(self, user: str, password: str) -> str:
        """RFC 4616, the one way that is sure to carry every character."""
        secret = f"\0{user}\0{password}".encode()
        self.untagged_responses.clear()
        self._left = _MOST_OF_ANSWER
        try:
            self.authenticate("PLAIN", lambda _: secret)
        except self.abort:
            raise
        except self.error as error:  # so it tells of a refusal, too
            return self._ended("NO", [str(error).encode("utf-8", "replace")])
        return "OK"

    def read(self, size: int) -> bytes:
        """A literal.

        Raises:
            MailboxError: It is too large.
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
        """A line with its end.

        Raises:
            MailboxError: It is too long.
        """
        last_polled_at = 0
        while (end := self._buffer.find(b"\n", last_polled_at)) < 0:
            last_polled_at = len(self._buffer)
            if last_polled_at > _MOST_OF_LINE:
                raise self._too_much()
            if not self._more():
                return self._taken(last_polled_at)
        return self._taken(end + 1)

    def send(self, data: bytes) -> None:  # type: ignore[override]  # only bytes come
        """All of it, in the time that is left.

        Raises:
            MailboxError: There is none, which imaplib would take for a broken connection.
        """
        try:
            self.sock.settimeout(self._seconds())
            self.sock.sendall(data)
        except TimeoutError:
            raise self._too_late() from None

    def leave(self) -> None:
        """Log out, without waiting long for an answer that tells nothing."""
        self._ends = min(self._ends, time.monotonic() + _LEAVE_SECONDS)
        self.logout()

    def shutdown(self) -> None:
        """Close the socket, which may be closed."""
        self.sock.close()

    def _secured(self) -> socket.socket:
        """The socket within TLS, at whose other end is the host by its certificate."""
        self.sock.settimeout(self._seconds())
        try:
            return ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
        except (OSError, ValueError):
            self.sock.close()
            raise

    def _more(self) -> bool:
        """Wait for bytes; False: there are no more."""
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
