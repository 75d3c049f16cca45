"""Outgoing mails: their validation and their form."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from heartbit_site.base.errors import HeartbitError
from tools.mail.addresses import people

MOST_RECIPIENTS = 50
MOST_ATTACHED_BYTES = 10_000_000  # of all files of a mail together
# Seven bits: servers without 8BITMIME accept it too.
_POLICY = SMTP.clone(cte_type="7bit")


class UnusableMailError(HeartbitError):
    """The arguments do not form a mail; nothing was sent."""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file attached to a mail."""

    name: str
    content: bytes

    @property
    def kind(self) -> str:
        """Content type, by the name."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to send, validated.

    Attributes:
        sender: From the credential; never from a model.
        key: Idempotency key of the call.
    """

    sender: Address
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    bcc: tuple[Address, ...]
    reply_to: tuple[Address, ...]
    subject: str
    text: str
    html: str
    key: str
    files: tuple[AttachedFile, ...] = ()

    @property
    def recipients(self) -> list[str]:
        """Bare addresses of all recipients, each once."""
        everyone = (*self.to, *self.cc, *self.bcc)
        return list(dict.fromkeys(address.addr_spec for address in everyone))

    @property
    def message_id(self) -> str:
        """Message-ID, the same for every attempt of the call."""
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:32]
        return f"<{digest}@{self.sender.domain}>"

    def as_bytes(self) -> bytes:
        """Return the mail as sent over SMTP; Bcc recipients are only in the envelope."""
        message = EmailMessage(policy=_POLICY)
        message["From"] = self.sender
        message["To"] = self.to
        if self.cc:
            message["Cc"] = self.cc
        if self.reply_to:
            message["Reply-To"] = self.reply_to
        message["Subject"] = self.subject
        message["Date"] = formatdate()
        message["Message-ID"] = self.message_id
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: suppresses automatic answers
        message.set_content(self.text)
        if self.html:
            message.add_alternative(self.html, subtype="html")
        for file in self.files:
            main, _, sub = file.kind.partition("/")
            message.add_attachment(file.content, maintype=main, subtype=sub, filename=file.name)
        return message.as_bytes()


def _check_size(files: Sequence[AttachedFile]) -> None:
    size = sum(len(file.content) for file in files)
    if size > MOST_ATTACHED_BYTES:
        raise UnusableMailError(
            f"The files have {size:,} bytes in total; the limit is {MOST_ATTACHED_BYTES:,}."
        )


def write_letter(
    sender: str,
    *,
    to: list[str],
    cc: list[str],
    bcc: list[str],
    reply_to: str,
    subject: str,
    text: str,
    html: str,
    key: str,
    files: Sequence[AttachedFile] = (),
) -> Letter:
    """Validate a mail's parts.

    Raises:
        UnusableMailError: An address is not valid, there are too many, the subject has several
            lines, or the files are too large.
    """
    if not 1 <= len(to) <= len(to + cc + bcc) <= MOST_RECIPIENTS:
        raise UnusableMailError(
            f"A mail has 1 to {MOST_RECIPIENTS} recipients, at least one of them in to; this one "
            f"has {len(to)} in to and {len(cc + bcc)} in cc and bcc."
        )
    if not subject.isprintable():
        raise UnusableMailError("The subject must be one line without control characters.")
    _check_size(files)
    return Letter(
        sender=read_sender(sender),
        to=tuple(map(_address, to)),
        cc=tuple(map(_address, cc)),
        bcc=tuple(map(_address, bcc)),
        reply_to=(_address(reply_to),) if reply_to else (),
        subject=subject.strip(),
        text=text,
        html=html,
        key=key,
        files=tuple(files),
    )


def read_sender(sender: str) -> Address:
    """Return the sender address of a credential.

    Raises:
        UnusableMailError: It is not valid.
    """
    try:
        return _address(sender)
    except UnusableMailError:
        raise UnusableMailError(
            f"The credential's sender {sender[:80]!r} is not an e-mail address: correct it."
        ) from None


def _address(value: str) -> Address:
    found = people(value) if value.isprintable() else []
    if len(found) != 1 or not found[0].address:
        raise UnusableMailError(
            f"{value[:80]!r} is not an e-mail address: write ada@example.org, or "
            "Ada Lovelace <ada@example.org>."
        )
    return Address(display_name=found[0].name, addr_spec=found[0].address)
