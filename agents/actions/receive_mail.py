"""Accept a mail that a channel received, or record why it is refused."""

from __future__ import annotations

import hashlib

from django.utils import timezone

from agents.actions.accept_message import HOUR, Accepted, accept_message
from agents.actions.refuse_message import refuse_message
from agents.choices import InboundStatus
from agents.inbound.mail_intake import refusal_reason, to_inbound
from agents.models import Channel, InboundMessage
from tools.mail.mime import read_mail

#: One sender gets at most a quarter of the hourly messages, and at least five. This stops loops
#: between two machines that do not mark their mails as automatic.
ONES_PART = 4
ONES_LEAST = 5


def receive_mail(channel: Channel, raw: bytes) -> Accepted:
    """Give a raw mail to the channel's agent, unless it is automatic or its sender is not allowed.

    Raises:
        UnreadableMailError: The bytes are not a mail.
        ChannelClosedError, TooManyMessagesError, AgentNotFoundError, HaltedError,
        QuotaExceededError: As for ``accept_message``.
    """
    mail = read_mail(raw)
    reason = refusal_reason(channel, mail)
    if not reason:
        message = to_inbound(channel, mail)
        taken = InboundMessage.objects.filter(channel=channel, external_id=message.external_id)
        reason = "" if taken.exists() else _too_many(channel, message.sender)
        if not reason:
            return accept_message(channel, message)
    name = hashlib.sha256(raw).hexdigest()
    return refuse_message(channel, name, reason, sender=mail.sender, title=mail.subject)


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
