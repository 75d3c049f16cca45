"""Which conversation a message goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Conversation, Delivery, InboundMessage, Run

if TYPE_CHECKING:
    from uuid import UUID

    from agents.inbound.message import Inbound
    from agents.models import Channel


def conversation_of(channel: Channel, message: Inbound) -> Conversation | None:
    """The one it belongs to, if that is with the channel's agent; None: it begins one.

    A mail belongs to the conversation that it answers a mail of: an answer of Heartbit, whose
    Message-ID only those know who got it, or an earlier mail of the same sender, for those ids can
    be known to others, who are not let into a conversation by them.
    """
    if message.thread:
        before = InboundMessage.objects.filter(channel=channel, thread=message.thread)
        return _of(channel, before.order_by("-id").values_list("conversation", flat=True).first())
    if not message.answers:
        return None
    sent = Delivery.objects.filter(
        workspace=channel.workspace_id, kind="email", message_id__in=message.answers
    )
    runs = Run.objects.filter(pk__in=sent.values("run_id"), conversation__agent=channel.agent)
    answered = runs.order_by("-pk").values_list("conversation", flat=True).first()
    if answered is None and message.sender:
        earlier = InboundMessage.objects.filter(
            channel=channel, sender=message.sender, external_id__in=message.answers
        )
        answered = earlier.order_by("-id").values_list("conversation", flat=True).first()
    return _of(channel, answered)


def _of(channel: Channel, conversation_id: UUID | None) -> Conversation | None:
    rows = Conversation.objects.select_related("workspace")
    mine = rows.filter(workspace=channel.workspace_id, agent=channel.agent)
    return mine.filter(pk=conversation_id).first() if conversation_id is not None else None
