"""Delivery of mails to a server over SMTP.

Usage::

    with open_outbox(server, seconds=30) as outbox:
        outbox.hand_over(sender, ["ada@example.org"], message)

``smtplib`` is not used: it does not limit replies, supports only ASCII passwords, and reports a
refused recipient only after it has sent the mail to the others.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from django.core.mail.utils import DNS_NAME

from tools.mail import server as servers
from tools.mail.server import MailServerError
from tools.mail.stream import VISIT_SECONDS, MailStream

_LEAVE_SECONDS = 2.0
_MOST_LINES = 100  # of a reply
_REPLY = re.compile(rb"([2-5]\d\d)(?:([ -])([^\r\n]*))?\r?\n")
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class _Reply:
    code: int
    lines: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return self.code < 400


class Outbox:
    """A session with an outgoing mail server."""

    def __init__(self, stream: MailStream, server: servers.MailServer) -> None:
        self._stream = stream
        self._server = server
        self._expect(self._reply(), "accepts no mails now")
        self._features = self._greet()

    def start_tls(self) -> None:
        """Switch to TLS."""
        if "STARTTLS" not in self._features:
            raise MailServerError(
                f"The mail server {self._server.host} offers no STARTTLS at port "
                f"{self._server.port}: use tls, usually at port 465."
            )
        self._expect(self._command("STARTTLS"), "refuses STARTTLS")
        self._stream.secure()
        self._features = self._greet()  # features announced without TLS may be forged

    def log_in(self) -> None:
        """Log in with SASL PLAIN, else LOGIN; both can carry every character."""
        offered = self._features.get("AUTH", "").upper().split()
        user, password = self._server.user, self._server.password
        if "PLAIN" in offered:
            secrets = _base64(f"\0{user}\0{password}")
            reply = self._command(f"AUTH PLAIN {secrets}")
        elif "LOGIN" in offered:
            reply = self._command("AUTH LOGIN")
            for secret in (user, password):
                if reply.code == 334:
                    reply = self._command(_base64(secret))
        else:
            raise MailServerError(
                f"The mail server {self._server.host} offers no login with a password at port "
                f"{self._server.port}: use tls or starttls, or leave the user name out."
            )
        if reply.code == 334:
            raise MailServerError(
                f"The mail server {self._server.host} requires a further login step."
            )
        self._expect(reply, f"rejected the password of {user}")

    def hand_over(self, sender: str, recipients: Sequence[str], message: bytes) -> None:
        """Send a mail to all recipients, or to none.

        Args:
            sender: The bare address of the envelope.
            recipients: The bare addresses.
            message: The mail, in ASCII.

        Raises:
            MailServerError: The server refuses the sender, a recipient or the mail; or the
                connection is lost, after which the mail may have been sent.
        """
        with servers.sentences(self._server, MailServerError):
            self._expect(self._command(f"MAIL FROM:<{sender}>"), f"refuses the sender {sender}")
            for address in recipients:
                reply = self._command(f"RCPT TO:<{address}>")
                self._expect(reply, f"refuses {address}, so the mail was sent to no one")
            reply = self._command("DATA")
            if reply.code != 354:
                self._expect(reply, "refuses the mail")
                raise self._nonsense()
            lines = _LINE_END.split(message.rstrip(b"\r\n"))
            stuffed = (b"." + line if line.startswith(b".") else line for line in lines)
            self._stream.send(b"\r\n".join(stuffed))
        try:
            with servers.sentences(self._server, MailServerError):
                self._stream.send(b"\r\n.\r\n")
                reply = self._reply()
        except MailServerError as error:
            raise MailServerError(f"The mail may or may not have been sent: {error}") from None
        self._expect(reply, "refuses the mail")

    def quit(self) -> None:
        """End the session with QUIT, without waiting long for an answer."""
        self._stream.hurry(_LEAVE_SECONDS)
        self._command("QUIT")

    def _greet(self) -> dict[str, str]:
        """Return the server's features and their parameters."""
        reply = self._command(f"EHLO {DNS_NAME}")
        self._expect(reply, "does not know EHLO")
        words = (line.partition(" ") for line in reply.lines[1:])
        return {name.upper(): parameters for name, _, parameters in words}

    def _command(self, line: str) -> _Reply:
        self._stream.send(f"{line}\r\n".encode())
        return self._reply()

    def _reply(self) -> _Reply:
        self._stream.begin_answer()
        lines: list[str] = []
        while len(lines) < _MOST_LINES:
            line = self._stream.readline()
            if not line.endswith(b"\n"):
                raise MailServerError(f"The mail server {self._server.host} closed the connection.")
            found = _REPLY.fullmatch(line)
            if found is None:
                raise self._nonsense()
            lines.append((found[3] or b"").decode("utf-8", "replace"))
            if found[2] != b"-":
                return _Reply(int(found[1]), tuple(lines))
        raise self._nonsense()

    def _expect(self, reply: _Reply, refusal: str) -> None:
        if not reply.is_good:
            said = f"{reply.code} {' '.join(reply.lines)}"
            words = servers.server_words(said, self._server)
            raise MailServerError(f"The mail server {self._server.host} {refusal}: {words}")

    def _nonsense(self) -> MailServerError:
        return MailServerError(f"The mail server {self._server.host} returned an invalid response.")


@contextmanager
def open_outbox(server: servers.MailServer, *, seconds: float = VISIT_SECONDS) -> Iterator[Outbox]:
    """Log in to an outgoing mail server for the duration of the block.

    Args:
        server: The server; without a user, no login takes place.
        seconds: Limit of the whole visit.

    Raises:
        MailServerError: The server cannot be used. No message or cause contains the password.
    """
    servers.check_lines(server, MailServerError, "mail server")
    with servers.sentences(server, MailServerError):
        route = servers.find_server(server, servers.SMTP_PORTS)
        stream = MailStream(route, tls=server.security == "tls", visit_seconds=seconds)
    try:
        with servers.sentences(server, MailServerError):
            outbox = Outbox(stream, server)
            if server.security == "starttls":
                outbox.start_tls()
            if server.user:
                outbox.log_in()
        yield outbox
        with suppress(MailServerError, OSError):  # accepted mails stay accepted
            outbox.quit()
    finally:
        stream.close()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
