"""Parsing of mails: sender, thread and text. Pure.

Usage::

    mail = read_mail(raw)  # UnreadableMailError: one sentence
    if not mail.automatic:
        start(mail.text, answer_to=mail.reply_to, thread=[*mail.references, mail.message_id])
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from heartbit_site.base.untrusted import clean_text
from tools.mail.addresses import people
from tools.mail.auto_replies import auto_reply_reason
from tools.mail.errors import UnreadableMailError
from tools.mail.headers import Headers, content_of, decode_words, one_line, split_header
from tools.mail.parts import Attachment, Body, read_body

MOST_CHARACTERS = 100_000
MOST_OF_SUBJECT = 200
MOST_REFERENCES = 50
_MOST_OF_SUBJECT_AS_SENT = 8_000
_MOST_OF_DATE = 100
_MOST_RECIPIENTS = 50
_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,400}>")  # the form that agents.delivery.targets accepts
_CUT = f"\n\n[The mail is longer; it was cut after {MOST_CHARACTERS} characters.]"
_CUT_EARLY = "\n\n[The mail is longer; its end was not read.]"


@dataclass(frozen=True, slots=True)
class Mail:
    """A parsed mail.

    Attributes:
        message_id: With its angle brackets. Without a valid one, an id made from the SHA-256 of the
            mail's bytes.
        sender: The bare address of From; empty: none that is valid, or several.
        sender_name: One line, at most 200 characters; may be empty.
        reply_to: The bare address of Reply-To if it has exactly one that is valid, else the
            sender's.
        subject: One line, at most 200 characters; may be empty.
        text: The text, at most ``MOST_CHARACTERS``; HTML is converted, and used only if there is no
            plain text.
        in_reply_to: Message-ID that it answers; empty: none.
        references: Message-IDs of the thread before it, oldest first; at most 50.
        attachments: Its first 20 files; they are not decoded.
        automatic: Why it must not be answered, as one sentence; empty: a person probably wrote it.
        date: Time of its Date header in ISO 8601; empty: none that is valid.
        recipients: The bare addresses of To and Cc, at most 50.
    """

    message_id: str
    sender: str
    sender_name: str
    reply_to: str
    subject: str
    text: str
    in_reply_to: str
    references: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    automatic: str
    date: str
    recipients: tuple[str, ...]


def read_mail(raw: bytes) -> Mail:
    """Parse a mail; broken fields count as missing.

    Raises:
        UnreadableMailError: The bytes are not a mail, or it has too many parts.
    """
    headers, content = split_header(raw)
    if not headers.fields:
        raise UnreadableMailError("The mail cannot be read: it has no header.")
    sender, sender_name = _sender(headers)
    body = read_body(headers, content)
    return Mail(
        message_id=_first_id(headers, "message-id") or _own_id(raw),
        sender=sender,
        sender_name=sender_name,
        reply_to=_reply_to(headers) or sender,
        subject=one_line(
            decode_words(headers.first("subject")[:_MOST_OF_SUBJECT_AS_SENT]), MOST_OF_SUBJECT
        ),
        text=_text(body),
        in_reply_to=_first_id(headers, "in-reply-to"),
        references=_references(headers),
        attachments=body.attachments,
        automatic=auto_reply_reason(headers, content_of(headers).kind, sender),
        date=_date(headers),
        recipients=_recipients(headers),
    )


def _sender(headers: Headers) -> tuple[str, str]:
    found = [person for value in headers.every("from") for person in people(value)]
    return (found[0].address, found[0].name) if len(found) == 1 else ("", "")


def _reply_to(headers: Headers) -> str:
    found = [person.address for value in headers.every("reply-to") for person in people(value)]
    usable = list(dict.fromkeys(address for address in found if address))
    return usable[0] if len(usable) == 1 else ""


def _date(headers: Headers) -> str:
    try:
        return parsedate_to_datetime(headers.first("date")[:_MOST_OF_DATE]).isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""


def _recipients(headers: Headers) -> tuple[str, ...]:
    values = [*headers.every("to"), *headers.every("cc")][:_MOST_RECIPIENTS]
    found = [person.address for value in values for person in people(value)]
    return tuple(dict.fromkeys(filter(None, found)))[:_MOST_RECIPIENTS]


def _first_id(headers: Headers, name: str) -> str:
    found = _MESSAGE_ID.search(headers.first(name))
    return found[0] if found else ""


def _own_id(raw: bytes) -> str:
    return f"<sha256-{hashlib.sha256(raw).hexdigest()}@heartbit.invalid>"


def _references(headers: Headers) -> tuple[str, ...]:
    thread = tuple(dict.fromkeys(_MESSAGE_ID.findall(headers.first("references"))))
    if len(thread) <= MOST_REFERENCES:
        return thread
    return (thread[0], *thread[1 - MOST_REFERENCES :])


def _text(body: Body) -> str:
    text = clean_text(body.text).strip()
    if text and body.problem:
        text += f"\n\n[{body.problem}]"
    if len(text) > MOST_CHARACTERS:
        return text[: MOST_CHARACTERS - len(_CUT)] + _CUT
    return text + _CUT_EARLY if body.cut else text
