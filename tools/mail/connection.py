"""IMAP connection with limits on time and memory.

``imaplib`` has no such limits. ``MailStream`` provides them, in the methods that ``imaplib``
documents for overriding; ``imaplib`` still parses the responses.
"""

from __future__ import annotations

from imaplib import IMAP4
from typing import cast

from tools.mail.server import MailboxError, MailRoute
from tools.mail.stream import MailStream

_LEAVE_SECONDS = 2.0
MOST_LITERAL = 12 * 1024 * 1024


class Connection(IMAP4):
    """Connection for one visit to a mailbox.

    Attributes:
        said: The server's text on the last command.
    """

    def __init__(self, route: MailRoute, *, tls: bool, visit_seconds: float) -> None:
        self._route = route
        self._tls = tls
        self._visit_seconds = visit_seconds
        self.said = ""
        super().__init__(route.host, route.port)

    def open(self, host: str = "", port: int = 0, timeout: float | None = None) -> None:
        """Connect on the checked route; the arguments are ignored."""
        self.host, self.port = self._route.host, self._route.port
        self.is_readonly = True
        self._stream = MailStream(self._route, tls=self._tls, visit_seconds=self._visit_seconds)
        self.sock = self._stream.sock

    def start_tls(self) -> None:
        """Switch to TLS.

        Raises:
            MailServerError: The server offers no STARTTLS, or sent data before TLS began.
        """
        if "STARTTLS" not in self.capabilities:
            raise MailboxError(
                f"The mail server {self.host} offers no STARTTLS at port {self.port}: use tls, "
                "usually at port 993."
            )
        if self.state != "NONAUTH" or self.command("STARTTLS") != "OK":
            raise MailboxError(f"The mail server {self.host} refuses STARTTLS.")
        self._stream.secure()
        self.sock = self._stream.sock
        self.untagged_responses.clear()
        # Capabilities announced without TLS may be forged.
        self.command("CAPABILITY")
        offered = b" ".join(one for one in self.response("CAPABILITY")[1] if isinstance(one, bytes))
        self.capabilities = tuple(offered.decode("ascii", "replace").upper().split())

    def command(self, name: str, *words: str | bytes, literal: bytes | None = None) -> str:
        """Send a command and return its result, OK or NO; earlier responses are discarded.

        Args:
            name: Name of the command.
            words: Its arguments.
            literal: A last argument of any bytes.
        """
        self.untagged_responses.clear()
        self._stream.begin_answer()
        self.literal = literal  # type: ignore[assignment]  # bytes, whatever typeshed says
        answer, said = self.xatom(name, *cast("tuple[str, ...]", words))
        return self._ended(answer, said)

    def authenticate_plain(self, user: str, password: str) -> str:
        """Log in with SASL PLAIN (RFC 4616), which can carry every character."""
        secret = f"\0{user}\0{password}".encode()
        self.untagged_responses.clear()
        self._stream.begin_answer()
        try:
            self.authenticate("PLAIN", lambda _: secret)
        except self.abort:
            raise
        except self.error as error:  # so it reports a refusal too
            return self._ended("NO", [str(error).encode("utf-8", "replace")])
        return "OK"

    def read(self, size: int) -> bytes:
        """Read a literal.

        Raises:
            MailServerError: The literal is too large.
        """
        if size > MOST_LITERAL:
            raise MailboxError(
                f"The mail server {self.host} wants to send {size} bytes at once: at most "
                f"{MOST_LITERAL} are accepted."
            )
        return self._stream.read(size)

    def readline(self) -> bytes:
        """Read a line, with its end."""
        return self._stream.readline()

    def send(self, data: bytes) -> None:  # type: ignore[override]  # only bytes come
        """Send all data in the remaining time; imaplib would report a timeout as a disconnect."""
        self._stream.send(data)

    def log_out(self) -> None:
        """Log out, without waiting long for the uninformative answer."""
        self._stream.hurry(_LEAVE_SECONDS)
        self.logout()

    def shutdown(self) -> None:
        """Close the socket, even if it is closed already."""
        self._stream.close()

    def _ended(self, answer: str, said: list[bytes]) -> str:
        self.said = said[-1].decode("utf-8", "replace") if said and said[-1] else ""
        return answer
