"""Read-only access to mails in a mailbox over IMAP.

Usage::

    account = MailAccount("imap.example.org", 993, "tls", "ada", password)
    with open_mailbox(account) as mailbox:
        for uid in mailbox.after(last, most=20):
            raw = mailbox.fetch(uid)  # None: deleted meanwhile
"""

from __future__ import annotations

import base64
import re
import ssl
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from imaplib import IMAP4
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from agents.delivery.report import one_line
from agents.errors import MailboxError
from agents.inbound.connection import Connection
from agents.inbound.route import find_route
from heartbit_site.base.http.errors import BlockedAddressError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.inbound.route import MailRoute

MOST_BYTES = 10 * 1024 * 1024
_MOST_SAID = 300
_NOT_ASCII = re.compile(r"[^ -~]+")
_NOT_IN_ARGUMENTS = re.compile("[\r\n\x00\ud800-\udfff]")
_UID = re.compile(rb"\bUID (\d{1,10})\b", re.IGNORECASE)
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,18})\b", re.IGNORECASE)
_NUMBER = re.compile(rb"\d{1,10}")
_QUOTED_BODY = re.compile(rb'BODY\[\] "((?:[^"\\]|\\.)*+)"', re.IGNORECASE | re.DOTALL)
_LAST_UID = 2**32 - 1
# Exceptions of imaplib for malformed answers, besides its own errors.
_NONSENSE = (IMAP4.error, ValueError, TypeError, LookupError, AttributeError, EOFError)

Security = Literal["tls", "starttls", "none"]


@dataclass(frozen=True, slots=True)
class MailAccount:
    """Location of a mailbox, and its login.

    Attributes:
        host: The server's name.
        port: Usually 993 with TLS, else 143.
        security: ``none`` only for hosts that an operator named in ``HEARTBIT_HTTP_ALLOWLIST``.
        user: User name on the server.
        password: The password, or an app password if the server needs one.
        folder: The folder's display name.
    """

    host: str
    port: int
    security: Security
    user: str
    password: str = field(repr=False)
    folder: str = "INBOX"


class Mailbox:
    """An open folder.

    Attributes:
        uid_validity: If it differs from an earlier value, UIDs of that time are void.
        uid_next: UID that the next new mail was to get when the folder was opened.
    """

    def __init__(self, connection: Connection, account: MailAccount) -> None:
        self._connection = connection
        self._account = account
        with _sentences(account):
            if self._command("EXAMINE", _quoted(folder_name(account.folder))) != "OK":
                raise MailboxError(
                    f"The mailbox {account.user} has no folder {account.folder!r} that can be "
                    f"opened{_said(connection, account)}"
                )
            connection.state = "SELECTED"
            self.uid_validity = self._number("UIDVALIDITY")
            self.uid_next = self._number("UIDNEXT")
        if not self.uid_validity or not self.uid_next:
            raise MailboxError(
                f"The mail server {account.host} gives the mails of {account.folder!r} no UIDs, "
                "so new ones cannot be told from old ones."
            )

    def after(self, uid: int, *, most: int) -> list[int]:
        """Return the UIDs greater than ``uid``, ascending, ``most`` at most.

        Raises:
            MailboxError: The server does not answer, or refuses.
        """
        if uid >= _LAST_UID:
            return []
        with _sentences(self._account):
            self._uid("SEARCH", "UID", f"{uid + 1}:*")
            words = b" ".join(map(_bytes, self._connection.response("SEARCH")[1])).split()
        found = {int(word) for word in words if _NUMBER.fullmatch(word)}
        # ``*`` means the last mail, even if its UID is lower than the first number.
        return sorted(one for one in found if one > uid)[:most]

    def size(self, uid: int) -> int | None:
        """Return the size of a mail in bytes; None: it was deleted.

        Raises:
            MailboxError: The server does not answer, or refuses.
        """
        with _sentences(self._account):
            self._uid("FETCH", str(uid), "(UID RFC822.SIZE)")
            for item in self._connection.response("FETCH")[1]:
                said = _bytes(item)
                if _is(uid, said) and (size := _SIZE.search(said)):
                    return int(size[1])
        return None

    def fetch(self, uid: int) -> bytes | None:
        """Return a raw mail without marking it as read; None: it was deleted.

        Raises:
            MailboxError: The server does not answer, refuses, or sends more than 12 MiB.
        """
        with _sentences(self._account):
            self._uid("FETCH", str(uid), "(UID BODY.PEEK[])")
            items = [*self._connection.response("FETCH")[1], None]
            for item, behind in pairwise(items):
                if isinstance(item, tuple):
                    before, mail = item
                    around = before + (behind if isinstance(behind, bytes) else b"")
                    if b"BODY[]" in before.upper() and _is(uid, around):
                        return bytes(mail)
                elif item and _is(uid, item) and (body := _QUOTED_BODY.search(item)):
                    return re.sub(rb"\\(.)", rb"\1", body[1])
        return None

    def _uid(self, *words: str) -> None:
        """Send a UID command; a deleted mail is not an error."""
        if self._command("UID", *words) != "OK" and "EXPUNGEISSUED" not in self._connection.said:
            raise MailboxError(
                f"The mail server {self._account.host} refuses to show its mails"
                f"{_said(self._connection, self._account)}"
            )

    def _command(self, name: str, *words: str | bytes) -> str:
        return self._connection.command(name, *words)

    def _number(self, name: str) -> int:
        answers = [_bytes(answer) for answer in self._connection.response(name)[1]]
        return int(answers[-1]) if answers and _NUMBER.fullmatch(answers[-1]) else 0


@contextmanager
def open_mailbox(account: MailAccount) -> Iterator[Mailbox]:
    """Open the folder read-only for the duration of the block.

    Raises:
        MailboxError: The folder cannot be opened. No message or cause contains the password.
    """
    _check_arguments(account)
    with _sentences(account):
        route = find_route(account.host, account.port)
        _check_secrecy(account, route)
        connection = Connection(route, tls=account.security == "tls")
    try:
        with _sentences(account):
            if account.security == "starttls":
                connection.start_tls()
            _log_in(connection, account)
        yield Mailbox(connection, account)
        with suppress(MailboxError, OSError, *_NONSENSE):  # everything is read by now
            connection.log_out()
    finally:
        connection.shutdown()


def _check_arguments(account: MailAccount) -> None:
    for name in ("host", "user", "password", "folder"):
        if _NOT_IN_ARGUMENTS.search(getattr(account, name)):
            raise MailboxError(f"The mailbox's {name} must be one line of text.")


def _check_secrecy(account: MailAccount, route: MailRoute) -> None:
    if account.security == "none" and not route.trusted:
        raise MailboxError(
            f"Without TLS everybody on the way to {account.host} can read the password: use tls "
            "or starttls, or let an operator add the host to HEARTBIT_HTTP_ALLOWLIST."
        )


def _log_in(connection: Connection, account: MailAccount) -> None:
    if connection.state != "NONAUTH":
        raise MailboxError(
            f"The mail server {account.host} lets everybody in without a password; so whose "
            "mailbox it would show is unknown."
        )
    capabilities = connection.capabilities
    if "AUTH=PLAIN" in capabilities:
        answer = connection.authenticate_plain(account.user, account.password)
    elif "LOGINDISABLED" in capabilities:
        raise MailboxError(
            f"The mail server {account.host} takes no password over this connection: use tls or "
            "starttls."
        )
    else:
        answer = connection.command("LOGIN", _quoted(account.user), _quoted(account.password))
    if answer != "OK":
        raise MailboxError(
            f"The mail server {account.host} does not let {account.user} in with this "
            f"password{_said(connection, account)}"
        )
    connection.state = "AUTH"


@contextmanager
def _sentences(account: MailAccount) -> Iterator[None]:
    """Convert every failure to one sentence without the password, and without a cause.

    A cause would keep the server's words, which may repeat the password.
    """
    where = f"The mail server {account.host}"
    try:
        yield
    except BlockedAddressError as error:
        raise MailboxError(str(error)) from None
    except TimeoutError:
        raise MailboxError(f"{where} takes too long to answer.") from None
    except ssl.SSLError as error:
        raise MailboxError(
            f"{where} cannot be talked to over TLS: {_words(_tls_trouble(error), account)}"
        ) from None
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise MailboxError(f"{where} cannot be reached: {_words(why, account)}") from None
    except IMAP4.abort as error:
        raise MailboxError(f"{where} broke off: {_words(str(error), account)}") from None
    except _NONSENSE as error:
        why = str(error) or type(error).__name__
        raise MailboxError(
            f"{where} answers what no mail server says: {_words(why, account)}"
        ) from None


def _tls_trouble(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}:
        return "it speaks without TLS at this port: use starttls, or another port"
    return (error.reason or str(error)).replace("_", " ").lower()


def _said(connection: Connection, account: MailAccount) -> str:
    return f": {_words(connection.said, account)}" if connection.said else "."


def _words(text: str, account: MailAccount) -> str:
    """Return the server's words as one line, unless they repeat the password."""
    password = account.password.encode()
    plain = f"\0{account.user}\0{account.password}".encode()
    forms = {account.password, password.decode("ascii", "replace"), repr(password)[2:-1]}
    forms |= {base64.b64encode(secret).decode() for secret in (password, plain)}
    if account.password and any(_bare(form) in _bare(text) for form in forms):
        return "its words are not shown, because the password is in them."
    line = one_line(text, _MOST_SAID)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _bare(text: str) -> str:
    """Remove the backslashes that quoting, or imaplib, adds."""
    return text.replace("\\", "")


def _is(uid: int, said: bytes) -> bool:
    found = _UID.search(said)
    return found is not None and int(found[1]) == uid


def _bytes(item: object) -> bytes:
    """Return the part of a response that is not a literal."""
    if isinstance(item, tuple):
        item = item[0]
    return item if isinstance(item, bytes) else b""


def _quoted(text: str) -> bytes:
    """Encode text without line ends as a quoted string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def folder_name(name: str) -> str:
    """Encode a folder's name as modified UTF-7 (RFC 3501, section 5.1.3).

    Raises:
        UnicodeEncodeError: The name holds a lone surrogate.
    """
    return _NOT_ASCII.sub(lambda found: f"&{_base64(found[0])}-", name.replace("&", "&-"))


def _base64(text: str) -> str:
    letters = base64.b64encode(text.encode("utf-16-be"), altchars=b"+,")
    return letters.decode().rstrip("=")
