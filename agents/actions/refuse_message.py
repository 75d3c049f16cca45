"""Log of a message that a channel refuses, with the reason."""

from __future__ import annotations

from agents.actions.accept_message import Accepted
from agents.choices import InboundStatus
from agents.models import Channel, InboundMessage

_MOST_SAID = 500


def refuse_message(
    channel: Channel, name: str, reason: str, *, sender: str = "", title: str = ""
) -> Accepted:
    """Record once that a message is refused, and why.

    Args:
        channel: The receiving channel.
        name: A unique id of the message, under which it may still be accepted later. Not a mail's
            Message-ID, which its sender can choose.
        reason: One sentence.
        sender: The sender's address.
        title: The subject.
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
