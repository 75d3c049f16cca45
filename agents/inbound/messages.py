"""Inbound messages: signed posts and e-mails, and the conversations that they continue.

The HMAC is computed here, not by the library that signs outgoing messages, which parses every body
as JSON first: nothing may be parsed before the sender is verified, and mails are not JSON.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from agents.delivery.targets import MOST_REFERENCES, EmailTarget
from agents.errors import InvalidSignatureError
from agents.inbound.channels import is_allowed_sender
from agents.models import Channel, Conversation, Delivery, InboundMessage
from tools.mail.headers import one_line
from tools.mail.mime import Mail

#: Maximum age of a message, and how far its sender's clock may be ahead.
TOLERANCE = timedelta(minutes=5)
#: One text for every failure, so that guessing reveals nothing.
REFUSAL = (
    "The message is not signed with the secret of a channel here: it needs the headers webhook-id, "
    "webhook-timestamp (within 5 minutes) and webhook-signature, as in Standard Webhooks."
)
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"\d{1,12}")
_MOST_SIGNATURES = 10


def verify(channel: Channel, headers: Mapping[str, str], body: bytes, now: datetime) -> str:
    """Return the message's id, which its signature covers.

    Args:
        channel: The channel; its previous secret is valid too until
            ``previous_secret_expires_at``.
        headers: Headers by name in lower case.
        body: The raw body.
        now: The current time.

    Raises:
        InvalidSignatureError: The signature is missing or wrong, or the timestamp too old.
        SecretError: The channel's secret cannot be decrypted.
    """
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not _ID.fullmatch(message_id) or not _TIME.fullmatch(at):
        raise InvalidSignatureError(REFUSAL)
    if abs(now.timestamp() - int(at)) > TOLERANCE.total_seconds():
        raise InvalidSignatureError(REFUSAL)
    content = f"{message_id}.{at}.".encode() + body
    good = [_signature(secret, content) for secret in channel.valid_secrets(now)]
    given = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    # All pairs are compared, so that the duration reveals nothing.
    same = [hmac.compare_digest(one.encode(), other) for one in given for other in good]
    if not any(same):
        raise InvalidSignatureError(REFUSAL)
    return message_id


def _signature(secret: str, content: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256))


@dataclass(frozen=True, slots=True)
class Inbound:
    """Message for ``actions.receive_message``.

    Attributes:
        external_id: A webhook's id, or a mail's key: the same id is accepted once.
        text: The task.
        sender: The sender's name or address as claimed by the message.
        title: A short title; may be empty.
        thread: The sender's name of the conversation; empty: a new one.
        in_reply_to: Message-IDs that a mail answers.
        reply: Target of the answer; None: no reply.
    """

    external_id: str
    text: str
    sender: str = ""
    title: str = ""
    thread: str = ""
    in_reply_to: tuple[str, ...] = ()
    reply: EmailTarget | None = None


def mail_key(message_id: str, sender: str) -> str:
    """Return the key of a mail; the Message-ID alone is chosen by the sender."""
    return f"{message_id} {sender}"


def conversation_of(channel: Channel, message: Inbound) -> Conversation | None:
    """Return the conversation that a message continues with the channel's agent; None: a new one.

    A mail continues the conversation in which its sender answers a mail: one sent to them, or an
    earlier one of their own. Knowing a Message-ID is not enough, as every reply and forwarded mail
    contains it.
    """
    before = InboundMessage.objects.filter(channel=channel)
    if message.thread:
        before = before.filter(thread=message.thread)
    elif message.in_reply_to:
        own = [mail_key(each, message.sender) for each in message.in_reply_to]
        before = before.filter(
            Q(external_id__in=own) | Q(run_id__in=list(_sent_to(channel, message)))
        )
    else:
        return None
    found = before.exclude(conversation_id=None).order_by("-id")
    conversation_id: UUID | None = found.values_list("conversation_id", flat=True).first()
    if conversation_id is None:
        return None
    rows = Conversation.objects.select_related("workspace")
    return rows.filter(
        pk=conversation_id, workspace=channel.workspace_id, agent=channel.agent
    ).first()


def _sent_to(channel: Channel, message: Inbound) -> Iterator[UUID]:
    """Yield the runs whose mailed answer the sender replies to with this message."""
    sent = Delivery.objects.filter(
        workspace=channel.workspace_id, kind="email", message_id__in=message.in_reply_to
    )
    for delivery in sent:
        if message.sender in {address.lower() for address in delivery.target["to"]}:
            yield delivery.run_id


_MOST_OF_SUBJECT = 190


def refusal_reason(channel: Channel, mail: Mail) -> str:
    """Return why a mail is refused, as one sentence; empty if it is accepted."""
    if mail.automatic:
        return mail.automatic
    if not mail.sender:
        return "It names no sender, or several."
    if mail.sender.lower() == channel.imap_user.lower():
        return "It comes from the mailbox itself."
    if not is_allowed_sender(channel, mail.sender):
        return f"Its sender {mail.sender} may not write to the channel."
    return ""


def to_inbound(channel: Channel, mail: Mail) -> Inbound:
    """Return the message for the channel's agent.

    A mail whose reply goes to another address starts a new conversation, so that no one can have
    earlier messages of a conversation sent to another address.
    """
    name = f"{mail.sender_name} <{mail.sender}>" if mail.sender_name else mail.sender
    lines = ["An e-mail was received.", "", f"From: {name}", f"Subject: {mail.subject}"]
    if mail.attachments:
        names = ", ".join(attachment.title for attachment in mail.attachments)
        lines.append(f"Attached, but not read: {names}")
    sender = mail.sender.lower()
    addressee = mail.reply_to if is_allowed_sender(channel, mail.reply_to) else mail.sender
    answers = (mail.in_reply_to, *mail.references) if addressee.lower() == sender else ()
    return Inbound(
        external_id=mail_key(mail.message_id, sender),
        text="\n".join([*lines, "", mail.text]),
        sender=sender,
        title=mail.subject or f"Mail from {mail.sender}",
        in_reply_to=tuple(dict.fromkeys(filter(None, answers))),
        reply=_reply(mail, addressee) if channel.reply else None,
    )


def _reply(mail: Mail, addressee: str) -> EmailTarget:
    """Return the target of the reply, in the mail's thread."""
    subject = mail.subject if mail.subject.lower().startswith("re:") else f"Re: {mail.subject}"
    # RFC 5322, 3.6.4: In-Reply-To replaces missing References.
    before = mail.references or tuple(filter(None, [mail.in_reply_to]))
    thread = [*before, mail.message_id]
    if len(thread) > MOST_REFERENCES:
        thread = [thread[0], *thread[1 - MOST_REFERENCES :]]
    return EmailTarget(
        to=[addressee],
        subject=one_line(subject, _MOST_OF_SUBJECT),
        attach=False,
        external=True,
        in_reply_to=mail.message_id,
        references=thread,
    )
