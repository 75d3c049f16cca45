"""Tools that read a mailbox."""

from __future__ import annotations

import datetime
import mimetypes
import re
import unicodedata
from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base.amounts import counted
from heartbit_site.base.credentials import ImapCredential
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.mail.headers import one_line
from tools.mail.imap import MOST_BYTES, Head, MailAccount, Mailbox, open_mailbox
from tools.mail.mime import Mail, read_mail
from tools.mail.parts import MOST_ATTACHMENTS, Attachment, UnreadableMailError

_TIMEOUT_SECONDS = 65.0  # the whole visit to the server may take 60
_LABELS = (Label.UNTRUSTED, Label.PRIVATE)
_HEAD_BYTES = 16_384
_PREVIEW_CHARACTERS = 200
_ID = re.compile(r"(\d{1,10})-(\d{1,10})")
# The months of IMAP are English, whatever the locale is.
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905

_reading = tool(
    effect=Effect.PURE, timeout_seconds=_TIMEOUT_SECONDS, tags=("connector", "mail"), labels=_LABELS
)
Folder = Annotated[str, Field(min_length=1, max_length=200, description="Name of the folder.")]


class MailNotFoundError(HeartbitError):
    """The folder has no mail with this id."""


@_reading
def search_email(
    mailbox: ImapCredential,
    *,
    folder: Folder = "INBOX",
    sender: Annotated[
        str, Field(max_length=200, description="Part of the sender's name or address.")
    ] = "",
    subject: Annotated[str, Field(max_length=200, description="Part of the subject.")] = "",
    text: Annotated[str, Field(max_length=200, description="Words of the mail.")] = "",
    since: Annotated[
        datetime.date | None, Field(description="Only mails received on this day or later.")
    ] = None,
    unread: Annotated[
        bool, Field(description="True for only the mails that no one has read yet.")
    ] = False,
    count: Annotated[int, Field(ge=1, le=25, description="Number of mails at most.")] = 10,
) -> list[dict[str, Any]]:
    """Search mails in a folder of the mailbox; the newest come first.

    Without any criterion the newest mails are listed. To read a whole mail give its id to
    read_email.
    """
    keys = ["UNSEEN"] if unread else []
    if since is not None:
        keys += ["SINCE", f"{since.day}-{_MONTHS[since.month - 1]}-{since.year:04}"]
    texts = {"FROM": sender, "SUBJECT": subject, "TEXT": text}
    with open_mailbox(account_of(mailbox, folder)) as opened:
        uids = opened.search(keys, {key: words for key, words in texts.items() if words})[:count]
        heads = opened.heads(uids, _HEAD_BYTES)
        return [_listed(opened, uid, heads[uid]) for uid in uids if uid in heads]


@_reading
def read_email(
    mailbox: ImapCredential,
    *,
    id: Annotated[str, Field(max_length=30, description="Id that search_email gave.")],
    folder: Folder = "INBOX",
    mark_as_read: Annotated[
        bool, Field(description="True to mark it as read for people too.")
    ] = False,
) -> str:
    """Read one mail: its sender, recipients, subject, text, and the list of its attachments.

    fetch_attachment gets an attachment by its number in that list.
    """
    with open_mailbox(account_of(mailbox, folder), writable=mark_as_read) as opened:
        uid = _uid(opened, id, folder)
        text = _written_out(_fetched(opened, uid, id, folder))
        if mark_as_read:
            opened.mark_as_read(uid)
    return text


@_reading
def fetch_attachment(
    context: ToolContext,
    mailbox: ImapCredential,
    *,
    id: Annotated[str, Field(max_length=30, description="Id that search_email gave.")],
    number: Annotated[
        int, Field(ge=1, le=MOST_ATTACHMENTS, description="Its number in read_email's list.")
    ],
    folder: Folder = "INBOX",
) -> dict[str, Any]:
    """Store an attachment of a mail as an artifact of this run, and return the artifact's name.

    Its content is a stranger's: programs and documents may be harmful.
    """
    if context.store_artifact is None:
        raise MailNotFoundError("No artifact store here: attachments cannot be fetched.")
    with open_mailbox(account_of(mailbox, folder)) as opened:
        mail = _fetched(opened, _uid(opened, id, folder), id, folder)
    if number > len(mail.attachments):
        raise MailNotFoundError(
            f"The mail has {counted(len(mail.attachments), 'attachment')}: there is no number "
            f"{number}."
        )
    found = mail.attachments[number - 1]
    content = found.content()
    artifact = context.store_artifact(file_name(found), content)
    return {"artifact": artifact, "type": found.kind, "size": len(content)}


def file_name(attachment: Attachment) -> str:
    """Return an untrusted file name without folders and invisible characters."""
    last = attachment.name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(one for one in last if unicodedata.category(one)[0] != "C").strip()
    return plain or f"attachment{mimetypes.guess_extension(attachment.kind) or ''}"


def account_of(mailbox: ImapCredential, folder: str = "INBOX") -> MailAccount:
    """Return the mailbox account of a credential, with its folder and login."""
    return MailAccount(
        host=mailbox.host,
        port=mailbox.port,
        security=mailbox.security,
        user=mailbox.username,
        password=mailbox.password.get_secret_value(),
        folder=folder,
    )


def _uid(opened: Mailbox, text: str, folder: str) -> int:
    """Return the UID of a mail id, which also contains the mailbox's UIDVALIDITY."""
    found = _ID.fullmatch(text)
    if found is None:
        raise MailNotFoundError(f"{text!r} is not a mail id: take one from search_email.")
    if int(found[1]) != opened.uid_validity:
        raise MailNotFoundError(
            f"The mail {text} is not in the folder {folder}, or the server has renumbered its "
            "mails: search again."
        )
    return int(found[2])


def _fetched(opened: Mailbox, uid: int, id: str, folder: str) -> Mail:
    """Return a mail.

    Raises:
        MailNotFoundError: The mail no longer exists.
        UnreadableMailError: It is too large, or not a mail.
    """
    size = opened.size(uid)
    if size is not None and size > MOST_BYTES:
        raise UnreadableMailError(f"The mail is larger than {MOST_BYTES:,} bytes.")
    raw = opened.fetch(uid) if size is not None else None
    if raw is None:
        raise MailNotFoundError(f"The folder {folder} has no mail {id}: it was deleted or moved.")
    return read_mail(raw)


def _listed(opened: Mailbox, uid: int, head: Head) -> dict[str, Any]:
    listed: dict[str, Any] = {"id": f"{opened.uid_validity}-{uid}", "read": head.seen}
    try:
        mail = read_mail(head.raw)
    except UnreadableMailError as error:
        return {**listed, "problem": str(error)}
    sender = f"{mail.sender_name} <{mail.sender}>" if mail.sender_name else mail.sender
    preview = one_line(mail.text, _PREVIEW_CHARACTERS)
    return {
        **listed,
        "date": mail.date,
        "from": sender,
        "subject": mail.subject,
        "preview": preview,
    }


def _written_out(mail: Mail) -> str:
    sender = f"{mail.sender_name} <{mail.sender}>" if mail.sender_name else mail.sender
    lines = {
        "From": sender or "(no valid sender)",
        "To": ", ".join(mail.recipients),
        "Reply-To": mail.reply_to if mail.reply_to != mail.sender else "",
        "Date": mail.date,
        "Subject": mail.subject,
    }
    attached = [
        f"Attachment {number}: {one.title} ({one.kind}, {len(one.content())} bytes)"
        for number, one in enumerate(mail.attachments, 1)
    ]
    header = "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
    return "\n".join([header, *attached, "", mail.text or "(no text)"])
