"""Conversion of an inbound e-mail to an agent task, and the reasons for refusing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.delivery.targets import MOST_REFERENCES, EmailTarget
from agents.inbound.message import Inbound
from agents.inbound.senders import is_allowed_sender
from agents.inbound.threads import mail_key
from agents.models import Channel
from tools.mail.headers import one_line

if TYPE_CHECKING:
    from tools.mail.mime import Mail

_MOST_OF_SUBJECT = 190


def refusal_reason(channel: Channel, mail: Mail) -> str:
    """Return why a mail is refused, as one sentence; empty: it is accepted."""
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
    earlier messages of a conversation sent elsewhere.
    """
    name = f"{mail.sender_name} <{mail.sender}>" if mail.sender_name else mail.sender
    lines = ["An e-mail has come in.", "", f"From: {name}", f"Subject: {mail.subject}"]
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
