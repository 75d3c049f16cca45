"""Result e-mails: building them, and sending their copies through the mail server.

Usage::

    letter = build_email(target, report, message_id)
    with mail_server() as server:
        for address in target.to:
            refusal = send_copy(server, letter, address)  # None: the server accepted it
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.mime.text import MIMEText
from email.utils import formatdate, parseaddr
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.encoding import punycode

from agents.delivery.report import File, Report, html_of, one_line
from agents.delivery.targets import EmailTarget
from tools.mail.server import MailServerError

_MOST_SAID = 300


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of one address by the mail server.

    Attributes:
        sentence: Text for people.
        final: True if retrying is useless.
    """

    sentence: str
    final: bool


class ResultEmail(EmailMultiAlternatives):
    """An e-mail sent as separate copies, because the server accepts or refuses each address.

    Attributes:
        addressee: Recipient of the next copy; the headers name all recipients.
    """

    addressee = ""

    def recipients(self) -> list[str]:
        """Return the recipient of the next copy."""
        return [self.addressee]


def new_message_id() -> str:
    """Return an unguessable Message-ID: a mail that answers it comes from a recipient."""
    _, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return f"<{secrets.token_hex(16)}@{punycode(address.rpartition('@')[2]) or 'localhost'}>"


def build_email(target: EmailTarget, report: Report, message_id: str) -> ResultEmail:
    """Build the e-mail; text from models and people enters headers only as a single line."""
    return ResultEmail(
        subject=target.subject or report.subject,
        body=report.text_outside() if target.external else report.text(),
        to=target.to,
        headers=_headers(target, report, message_id),
        alternatives=[(html_of(report, external=target.external), "text/html")],
        attachments=[_part(file) for file in report.files],
    )


@contextmanager
def mail_server() -> Iterator[BaseEmailBackend]:
    """Open a connection to the configured mail server.

    Raises:
        MailServerError: The server is unreachable, or refuses the login.
    """
    try:
        server = get_connection()
        server.open()
    except (SMTPException, OSError, ValueError) as error:  # ValueError: contradictory settings
        raise MailServerError(_trouble(error)) from error
    try:
        yield server
    finally:
        with suppress(SMTPException, OSError):  # accepted mails stay accepted
            server.close()


def send_copy(server: BaseEmailBackend, letter: ResultEmail, address: str) -> Refusal | None:
    """Send the copy for one address; return the server's refusal, if any.

    Raises:
        MailServerError: The connection was lost or the sender is refused, which concerns every
            address.
        ValueError: The e-mail cannot be built.
    """
    letter.addressee = address
    try:
        server.send_messages([letter])
    except SMTPRecipientsRefused as refused:
        code, said = next(iter(refused.recipients.values()))
        return _refusal(address, code, said)
    except SMTPDataError as refused:
        return _refusal(address, refused.smtp_code, refused.smtp_error)
    except (SMTPException, OSError) as error:
        raise MailServerError(_trouble(error)) from error
    return None


def _headers(target: EmailTarget, report: Report, message_id: str) -> dict[str, str]:
    headers = {
        "Message-ID": message_id,
        "Date": formatdate(),  # one for all copies
        "Auto-Submitted": "auto-generated",  # RFC 3834: suppresses automatic answers
    }
    if not target.external:
        headers["X-Heartbit-Run"] = str(report.run_id)
    if target.in_reply_to:
        headers["In-Reply-To"] = target.in_reply_to
    thread = target.references or [target.in_reply_to]
    if thread[0]:
        headers["References"] = " ".join(thread)
    return headers


def _part(file: File) -> MIMEText:
    """Encode a file as base64, so that line ends arrive unchanged."""
    part = MIMEText(file.content, file.form, "utf-8")
    part.add_header("Content-Disposition", "attachment", filename=file.name)
    return part


def _refusal(address: str, code: int, said: bytes | str) -> Refusal:
    words = one_line(_decoded(said), _MOST_SAID)
    return Refusal(f"The mail server refused {address}: {code} {words}".rstrip(), code >= 500)


def _trouble(error: Exception) -> str:
    # The text of smtplib's exceptions is a tuple, so code and text are read from attributes.
    code, said = getattr(error, "smtp_code", ""), getattr(error, "smtp_error", b"")
    words = f"{code} {_decoded(said)}" if code else str(error) or type(error).__name__
    return f"The mail server is unavailable: {one_line(words, _MOST_SAID)}"


def _decoded(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
