"""Storage of messages: once per key, numbered on their thread, with their inbox entries.

Usage, inside ``transaction.atomic()``::

    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    to = resolve_recipient(sender, "agent:writer")
    return save_message(sender, MessageKind.NOTIFICATION, text, to, hops_of(sender))

Locks are taken in one order, the sender's and then the thread's, and held until the commit: so
messages become visible in the order of their numbers. Locks of runs come after both.
"""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Max

from agents.errors import EmptyTaskError, RecipientError
from agents.messaging.addresses import Recipient, Sender
from agents.messaging.guard import check_rate
from agents.messaging.limits import MOST_CHARACTERS, MOST_OF_A_THREAD, MOST_OF_AN_ENTRY
from agents.models import InboxEntry, Message, MessageKind
from heartbit_site.base import audit
from heartbit_site.base.ids import new_id
from heartbit_site.base.query import execute
from heartbit_site.base.untrusted import clean_text

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))"


def checked_text(text: str) -> str:
    """Return a text in its stored form.

    Raises:
        EmptyTaskError: The text is blank.
        RecipientError: The text is too long.
    """
    words = clean_text(text).strip()
    if not words:
        raise EmptyTaskError("The message is empty: say what the other one should know.")
    if len(words) > MOST_CHARACTERS:
        raise RecipientError(
            f"The message has {len(words):,} characters, and the limit is {MOST_CHARACTERS:,}: "
            "shorten it."
        )
    return words


def checked_entry(text: str) -> str:
    """Return a text that can be stored and read in one piece from an inbox.

    Raises:
        EmptyTaskError: The text is blank.
        RecipientError: The text is too long.
    """
    words = checked_text(text)
    size = len(json.dumps(words, ensure_ascii=False).encode())
    if size > MOST_OF_AN_ENTRY:
        raise RecipientError(
            f"The message takes {size:,} bytes in an inbox, and the limit is {MOST_OF_AN_ENTRY:,}: "
            "shorten it, or send it in parts."
        )
    return words


def checked_thread(thread: str) -> str:
    """Return a thread's name in its stored form.

    Raises:
        RecipientError: The name is too long.
    """
    name = clean_text(thread).strip()
    if len(name) > MOST_OF_A_THREAD:
        raise RecipientError(
            f"The thread's name has {len(name):,} characters, and the limit is {MOST_OF_A_THREAD}: "
            "shorten it."
        )
    return name


def lock_sender(sender: Sender, key: str | None) -> Message | None:
    """Lock the sender until the commit; return the message stored under the key, if any.

    The lock serialises the messages of one sender.

    Raises:
        MessageLimitReachedError: The sender's limit per minute is reached.
    """
    _lock(sender, f"message-sender:{sender.address}")
    if key is not None:
        sent = Message.objects.filter(workspace=sender.workspace, idempotency_key=key)
        earlier = sent.first()
        if earlier is not None:
            return earlier
    check_rate(sender)
    return None


def save_message(
    sender: Sender, kind: MessageKind, text: str, to: Recipient, hops: int, **columns: Any
) -> Message:
    """Store a message; the audit records a person's message without its text.

    ``columns`` are its other columns; without ``thread`` it begins a new one.
    """
    number, thread = columns.pop("id", new_id()), columns.pop("thread", "")
    message = Message.objects.create(
        id=number,
        workspace=sender.workspace,
        origin=sender.origin,
        sender=sender.address,
        recipient=to.address,
        kind=kind,
        thread=thread or str(number),
        seq=_next(sender, thread) if thread else 1,
        body=text,
        source_run_id=sender.run.pk if sender.run is not None else None,
        source_call_id=sender.call_id,
        hops=hops,
        **columns,
    )
    InboxEntry.objects.bulk_create(InboxEntry(message=message, agent=agent) for agent in to.inboxes)
    if sender.by is not None:
        audit.record(
            sender.by,
            "message.send",
            workspace=sender.workspace,
            target=f"message:{message.pk}",
            label=message.recipient,
            details={"kind": str(message.kind)},
        )
    return message


def _next(sender: Sender, thread: str) -> int:
    """Return the next number on a thread, and lock the thread until the commit."""
    _lock(sender, f"message-thread:{sender.origin}:{thread}")
    rows = Message.objects.filter(workspace=sender.workspace, origin=sender.origin, thread=thread)
    return int(rows.aggregate(last=Max("seq"))["last"] or 0) + 1


def _lock(sender: Sender, what: str) -> None:
    execute(_LOCK, [what, sender.workspace.pk])
