"""Take a mail that a channel was sent, or say why nobody answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.actions.accept_message import Accepted, accept_message
from agents.choices import InboundStatus
from agents.inbound.letters import inbound_of, why_not
from agents.inbound.mime import read_mail
from agents.models import InboundMessage

if TYPE_CHECKING:
    from agents.models import Channel

_MOST_SAID = 500


def receive_mail(channel: Channel, raw: bytes) -> Accepted:
    """Give a mail to the channel's agent, unless a machine wrote it or its sender may not.

    Args:
        channel: Of the kind email.
        raw: The whole mail as it came (RFC 5322).

    Raises:
        UnreadableMailError: It is no mail.
        ChannelClosedError, TooManyMessagesError, AgentNotFoundError, HaltedError, QuotaSpentError:
            As for ``accept_message``.
    """
    mail = read_mail(raw)
    reason = why_not(channel, mail)
    if not reason:
        return accept_message(channel, inbound_of(channel, mail))
    return refuse_mail(channel, mail.message_id, reason, sender=mail.sender, title=mail.subject)


def refuse_mail(
    channel: Channel, external_id: str, reason: str, *, sender: str = "", title: str = ""
) -> Accepted:
    """Note, once, that a mail is not answered, and why."""
    row, is_new = InboundMessage.objects.get_or_create(
        channel=channel,
        external_id=external_id,
        defaults={
            "sender": sender,
            "title": title,
            "status": InboundStatus.REFUSED,
            "reason": reason[:_MOST_SAID],
        },
    )
    return Accepted(row.run_id, row.conversation_id, repeated=not is_new)
