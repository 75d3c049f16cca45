"""Access to mails in a mailbox over IMAP, read-only by default.

Usage::

    account = MailAccount("imap.example.org", 993, "tls", "ada", password)
    with open_mailbox(account) as mailbox:
        for uid in mailbox.after(last, most=20):
            raw = mailbox.fetch(uid)  # None: deleted meanwhile
        for uid in mailbox.search(["UNSEEN"], {"FROM": "ada"})[:20]: ...
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from imaplib import IMAP4
from itertools import pairwise

from tools.mail import server as servers
from tools.mail.connection import Connection
from tools.mail.headers import one_line
from tools.mail.server import MailboxError
from tools.mail.stream import VISIT_SECONDS

MOST_BYTES = 10 * 1024 * 1024
_MOST_FOUND = 500_000  # mails of one search
_MOST_FOLDERS = 100
_MOST_OF_FOLDER = 200
_ESCAPED = re.compile(rb"\\(.)")
_NOT_ASCII = re.compile(r"[^ -~]+")
_UID = re.compile(rb"\bUID (\d{1,10})\b", re.IGNORECASE)
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,18})\b", re.IGNORECASE)
_SEEN = re.compile(rb"\\Seen\b", re.IGNORECASE)
_FOLDER = re.compile(rb'\([^)]*\) (?:NIL|"(?:[^"\\]|\\.)*+") (?:"((?:[^"\\]|\\.)*+)"|([^ "]+))')
_ENCODED = re.compile(r"&([A-Za-z0-9+,]*)-")
_NUMBER = re.compile(rb"\d{1,10}")
_NUMBERS = re.compile(rb"(?<!\S)\d{1,10}(?!\S)")
_QUOTED_BODY = re.compile(rb'BODY\[\](?:<0>)? "((?:[^"\\]|\\.)*+)"', re.IGNORECASE | re.DOTALL)
_LAST_UID = 2**32 - 1
# Exceptions of imaplib for malformed answers, besides its own errors.
_NONSENSE = (IMAP4.error, ValueError, TypeError, LookupError, AttributeError, EOFError)


@dataclass(frozen=True, slots=True)
class MailAccount(servers.MailServer):
    """A mailbox, with its login.

    Attributes:
        folder: The folder's display name.
    """

    folder: str = "INBOX"


@dataclass(frozen=True, slots=True)
class Head:
    """Beginning of a mail.

    Attributes:
        raw: Its first bytes.
        seen: True if it is marked as read.
    """

    raw: bytes
    seen: bool


class Mailbox:
    """An open folder.

    Attributes:
        uid_validity: If it differs from an earlier value, earlier UIDs are void.
        uid_next: UID that was next to be assigned when the folder was opened.
    """

    def __init__(
        self, connection: Connection, account: MailAccount, *, writable: bool = False
    ) -> None:
        self._connection = connection
        self._account = account
        opening = "SELECT" if writable else "EXAMINE"
        with _sentences(account):
            if self._command(opening, _quoted(folder_name(account.folder))) != "OK":
                raise MailboxError(
                    f"The mailbox {account.user} has no folder {account.folder!r} that can be "
                    f"opened{_said(connection, account)}{self._other_folders()}"
                )
            connection.state = "SELECTED"
            self.uid_validity = self._number("UIDVALIDITY")
            self.uid_next = self._number("UIDNEXT")
        if not self.uid_validity or not self.uid_next:
            raise MailboxError(
                f"The mail server {account.host} assigns no UIDs in {account.folder!r}, so new "
                "mails cannot be recognized."
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
            found = self._found()
        # ``*`` means the last mail, even if its UID is lower than the first number.
        return sorted(one for one in found if one > uid)[:most]

    def search(self, keys: Sequence[str], texts: Mapping[str, str]) -> list[int]:
        """Return the UIDs of the mails that fit every criterion, the newest first.

        Args:
            keys: Search keys of RFC 3501 without text, such as ``UNSEEN``.
            texts: Texts by search key, such as ``SUBJECT``.

        Raises:
            MailboxError: The server does not answer, or refuses.
        """
        found: set[int] | None = None
        with _sentences(self._account):
            # Only a literal may hold every character, and imaplib sends one per command.
            for key, text in texts.items() or [("ALL", "")]:
                words = ["CHARSET", "UTF-8", *keys, key] if text else [*keys, key]
                self._uid("SEARCH", *words, literal=text.encode() if text else None)
                found = self._found() if found is None else found & self._found()
        return sorted(found or (), reverse=True)

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
            return next((raw for raw, said in self._mails() if _is(uid, said)), None)

    def heads(self, uids: Sequence[int], most_bytes: int) -> dict[int, Head]:
        """Return the beginnings of mails by UID, without marking them as read.

        Args:
            uids: UIDs of the mails; a deleted one is missing in the result.
            most_bytes: Limit of each beginning.

        Raises:
            MailboxError: The server does not answer, or refuses.
        """
        if not uids:
            return {}
        found = {}
        with _sentences(self._account):
            numbers = ",".join(map(str, uids))
            self._uid("FETCH", numbers, f"(UID FLAGS BODY.PEEK[]<0.{most_bytes}>)")
            for raw, said in self._mails():
                uid = _UID.search(said)
                if uid is not None:
                    found[int(uid[1])] = Head(raw, seen=_SEEN.search(said) is not None)
        return found

    def mark_as_read(self, uid: int) -> None:
        """Mark a mail as read, in a folder that was opened writable.

        Raises:
            MailboxError: The server does not answer, or refuses.
        """
        with _sentences(self._account):
            self._uid("STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)")

    def _other_folders(self) -> str:
        """Return a sentence that names the folders; empty if the server does not list them."""
        if self._command("LIST", '""', '"*"') != "OK":
            return ""
        names = []
        for item in self._connection.response("LIST")[1]:
            if isinstance(item, tuple):
                names.append(bytes(item[1]))
            elif item and (found := _FOLDER.fullmatch(item)):
                names.append(found[2] or _ESCAPED.sub(rb"\1", found[1]))
        shown = [folder_of(name.decode("ascii", "replace")) for name in names[:_MOST_FOLDERS]]
        return f" Its folders: {', '.join(shown)}." if shown else ""

    def _found(self) -> set[int]:
        found: set[int] = set()
        for line in map(_bytes, self._connection.response("SEARCH")[1]):
            for word in _NUMBERS.finditer(line):
                found.add(int(word[0]))
                if len(found) > _MOST_FOUND:
                    raise MailboxError(
                        f"The mail server {self._account.host} found more than {_MOST_FOUND} "
                        "mails: narrow the search."
                    )
        return found

    def _mails(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the contents of the fetched mails, each with its surrounding response text."""
        items = [*self._connection.response("FETCH")[1], None]
        for item, behind in pairwise(items):
            if isinstance(item, tuple):
                before, mail = item
                if b"BODY[]" in before.upper():
                    yield bytes(mail), before + (behind if isinstance(behind, bytes) else b"")
            elif item and (body := _QUOTED_BODY.search(item)):
                yield _ESCAPED.sub(rb"\1", body[1]), item[: body.start()] + item[body.end() :]

    def _uid(self, *words: str, literal: bytes | None = None) -> None:
        """Send a UID command; a deleted mail is not an error."""
        answer = self._connection.command("UID", *words, literal=literal)
        if answer != "OK" and "EXPUNGEISSUED" not in self._connection.said:
            raise MailboxError(
                f"The mail server {self._account.host} did not return its mails"
                f"{_said(self._connection, self._account)}"
            )

    def _command(self, name: str, *words: str | bytes) -> str:
        return self._connection.command(name, *words)

    def _number(self, name: str) -> int:
        answers = [_bytes(answer) for answer in self._connection.response(name)[1]]
        return int(answers[-1]) if answers and _NUMBER.fullmatch(answers[-1]) else 0


@contextmanager
def open_mailbox(
    account: MailAccount, *, writable: bool = False, seconds: float = VISIT_SECONDS
) -> Iterator[Mailbox]:
    """Open the folder for the duration of the block.

    Args:
        account: The mailbox, and the login.
        writable: True to allow changes to the flags of its mails.
        seconds: Limit of the whole visit.

    Raises:
        MailboxError: The folder cannot be opened. No message or cause contains the password.
    """
    servers.check_lines(account, MailboxError, "mailbox")
    with _sentences(account):
        route = servers.find_server(account, servers.IMAP_PORTS)
        tls = account.security == "tls"
        connection = Connection(route, tls=tls, visit_seconds=seconds)
    try:
        with _sentences(account):
            if account.security == "starttls":
                connection.start_tls()
            _log_in(connection, account)
        yield Mailbox(connection, account, writable=writable)
        with suppress(MailboxError, OSError, *_NONSENSE):  # everything has been read by now
            connection.log_out()
    finally:
        connection.shutdown()


def _log_in(connection: Connection, account: MailAccount) -> None:
    if connection.state != "NONAUTH":
        raise MailboxError(
            f"The mail server {account.host} accepts logins without a password, so the mailbox's "
            "owner is unknown."
        )
    capabilities = connection.capabilities
    if "AUTH=PLAIN" in capabilities:
        answer = connection.authenticate_plain(account.user, account.password)
    elif "LOGINDISABLED" in capabilities:
        raise MailboxError(
            f"The mail server {account.host} accepts no password over this connection: use tls or "
            "starttls."
        )
    else:
        answer = connection.command("LOGIN", _quoted(account.user), _quoted(account.password))
    if answer != "OK":
        raise MailboxError(
            f"The mail server {account.host} rejected the password of "
            f"{account.user}{_said(connection, account)}"
        )
    connection.state = "AUTH"
    if "ID" in capabilities:
        # Some servers (163.com, 126.com) open no folder until the client has sent ID.
        connection.command("ID", '("name" "Heartbit")')


@contextmanager
def _sentences(account: MailAccount) -> Iterator[None]:
    """Convert every failure to one sentence, as ``server.sentences`` does."""
    where = f"The mail server {account.host}"
    with servers.sentences(account, MailboxError):
        try:
            yield
        except OSError:  # some are ValueErrors too
            raise
        except IMAP4.abort as error:
            words = servers.server_words(str(error), account)
            raise MailboxError(f"{where} closed the connection: {words}") from None
        except _NONSENSE as error:
            words = servers.server_words(str(error) or type(error).__name__, account)
            raise MailboxError(f"{where} returned an invalid response: {words}") from None


def _said(connection: Connection, account: MailAccount) -> str:
    return f": {servers.server_words(connection.said, account)}" if connection.said else "."


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


def folder_of(spelled: str) -> str:
    """Return a folder's display name; the reverse of ``folder_name``, for any text."""
    return one_line(_ENCODED.sub(_decoded, spelled), _MOST_OF_FOLDER)


def _decoded(found: re.Match[str]) -> str:
    letters = found[1].replace(",", "/")
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4))
        return data.decode("utf-16-be", "replace") if letters else "&"
    except ValueError:
        return found[0]


def _base64(text: str) -> str:
    letters = base64.b64encode(text.encode("utf-16-be"), altchars=b"+,")
    return letters.decode().rstrip("=")
