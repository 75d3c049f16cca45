"""Take a mail that a channel was sent, or say why nobody answers it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.utils import timezone

from agents.actions.accept_message import HOUR, Accepted, accept_message
from agents.choices import InboundStatus
from agents.inbound.mail_intake import refusal_reason, to_inbound
from agents.inbound.mime import read_mail
from agents.models import InboundMessage

if TYPE_CHECKING:
    from agents.models import Channel

#: Of the messages an hour, one sender gets no more than this part, and at least so many: two
#: machines that do not say that they are machines stop here.
ONES_PART = 4
ONES_LEAST = 5
_MOST_SAID = 500


def receive_mail(channel: Channel, raw: bytes) -> Accepted:
    """Give a mail to the channel's agent, unless a machine wrote it or its sender may not.

    Args:
        channel: Of the kind email.
        raw: The whole mail as it came (RFC 5322).

    Raises:
        UnreadableMailError: It is no mail.
        ChannelClosedError, TooManyMessagesError, AgentNotFoundError, HaltedError,
        QuotaExceededError: As for ``accept_message``.
    """
    mail = read_mail(raw)
    reason = refusal_reason(channel, mail)
    if reason:
        return refuse_mail(channel, _name(raw), reason, sender=mail.sender, title=mail.subject)
    message = to_inbound(channel, mail)
    taken = InboundMessage.objects.filter(channel=channel, external_id=message.external_id)
    if not taken.exists():
        reason = _too_many(channel, message.sender)
    if reason:
        return refuse_mail(channel, _name(raw), reason, sender=mail.sender, title=mail.subject)
    return accept_message(channel, message)


def refuse_mail(
    channel: Channel, name: str, reason: str, *, sender: str = "", title: str = ""
) -> Accepted:
    """Note, once, that a mail is not answered, and why.

    Args:
        channel: Where it came.
        name: What tells it from others. Not its Message-ID, which is whatever its sender says it
            is: the mail that really has it is to be taken.
        reason: One sentence.
        sender: Its address.
        title: Its subject.
    """
    row, is_new = InboundMessage.objects.get_or_create(
        channel=channel,
        external_id=f"refused:{name}",
        defaults={
            "sender": sender,
            "title": title,
            "status": InboundStatus.REFUSED,
            "reason": reason[:_MOST_SAID],
        },
    )
    return Accepted(row.run_id, row.conversation_id, is_duplicate=not is_new)


def _name(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _too_many(channel: Channel, sender: str) -> str:
    most = max(ONES_LEAST, channel.hourly_limit // ONES_PART)
    recent = InboundMessage.objects.filter(
        channel=channel,
        sender=sender,
        status=InboundStatus.ACCEPTED,
        received_at__gt=timezone.now() - HOUR,
    )
    if recent.count() < most:
        return ""
    return f"Its sender has written {most} mails within an hour, which is the most of one sender."
