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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from imaplib import IMAP4
from itertools import pairwise
from typing import TYPE_CHECKING

from tools.mail.connection import Connection
from tools.mail.errors import MailboxError
from tools.mail.route import IMAP_PORTS
from tools.mail.server import MailServer, check_lines, find_server, sentences, server_words

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 10 * 1024 * 1024
_NOT_ASCII = re.compile(r"[^ -~]+")
_UID = re.compile(rb"\bUID (\d{1,10})\b", re.IGNORECASE)
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,18})\b", re.IGNORECASE)
_NUMBER = re.compile(rb"\d{1,10}")
_QUOTED_BODY = re.compile(rb'BODY\[\] "((?:[^"\\]|\\.)*+)"', re.IGNORECASE | re.DOTALL)
_LAST_UID = 2**32 - 1
# Exceptions of imaplib for malformed answers, besides its own errors.
_NONSENSE = (IMAP4.error, ValueError, TypeError, LookupError, AttributeError, EOFError)


@dataclass(frozen=True, slots=True)
class MailAccount(MailServer):
    """A mailbox, and the login there.

    Attributes:
        folder: The folder's display name.
    """

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
    check_lines(account, MailboxError, "mailbox")
    with _sentences(account):
        route = find_server(account, IMAP_PORTS)
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
    """Convert every failure to one sentence, as ``server.sentences`` does."""
    where = f"The mail server {account.host}"
    with sentences(account, MailboxError):
        try:
            yield
        except OSError:  # some are errors of values, too
            raise
        except IMAP4.abort as error:
            words = server_words(str(error), account)
            raise MailboxError(f"{where} broke off: {words}") from None
        except _NONSENSE as error:
            words = server_words(str(error) or type(error).__name__, account)
            raise MailboxError(f"{where} answers what no mail server says: {words}") from None


def _said(connection: Connection, account: MailAccount) -> str:
    return f": {server_words(connection.said, account)}" if connection.said else "."


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
