"""Send a message to an agent or to all agents: it is in their inboxes after the commit."""

from __future__ import annotations

from django.db import transaction

from agents.messaging.addresses import Sender, resolve_recipient
from agents.messaging.guard import hops_of
from agents.messaging.storage import Draft, checked_entry, checked_thread, lock_sender, save_message
from agents.models import Message, MessageKind


@transaction.atomic
def send_message(
    sender: Sender, to: str, text: str, *, thread: str = "", key: str | None = None
) -> Message:
    """Put a notification into inboxes.

    Args:
        sender: The author.
        to: An address (``agents.messaging.addresses``).
        text: The message.
        thread: Name of the thread, whose messages are numbered; empty: a new thread.
        key: Repeating the key in the same workspace returns the same message.

    Raises:
        EmptyTaskError: ``text`` is blank.
        RecipientError: The address is unknown, or the text or the thread's name is too long.
        AgentNotFoundError: No published agent has that name.
        MessageLimitReachedError: Too many message hops, or messages per minute.
    """
    words, about = checked_entry(text), checked_thread(thread)
    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    hops = hops_of(sender)
    draft = Draft(
        MessageKind.NOTIFICATION, words, resolve_recipient(sender, to), hops, thread=about
    )
    return save_message(draft, sender=sender, key=key)
