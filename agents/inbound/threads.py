"""Matching of inbound messages to conversations."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q

from agents.inbound.message import Inbound
from agents.models import Channel, Conversation, Delivery, InboundMessage


def mail_key(message_id: str, sender: str) -> str:
    """Return the key of a mail; the Message-ID alone is chosen by the sender."""
    return f"{message_id} {sender}"


def conversation_of(channel: Channel, message: Inbound) -> Conversation | None:
    """Return the conversation that a message continues with the channel's agent; None: a new one.

    A mail continues the conversation in which its sender answers a mail: one sent to them, or an
    earlier one of their own. Knowing a Message-ID is not enough: it is in every reply and forwarded
    mail.
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
    """Yield the runs whose answer was mailed to the sender and is answered by this message."""
    sent = Delivery.objects.filter(
        workspace=channel.workspace_id, kind="email", message_id__in=message.in_reply_to
    )
    for delivery in sent:
        if message.sender in {address.lower() for address in delivery.target["to"]}:
            yield delivery.run_id
