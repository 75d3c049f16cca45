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
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.db.models.functions import Now

from agents.choices import Placement
from agents.errors import (
    EmptyTaskError,
    MessageLimitReachedError,
    RecipientError,
    RunStateError,
    SubAgentError,
)
from agents.messaging.addresses import Recipient, Sender
from agents.messaging.limits import MOST_CHARACTERS, MOST_OF_A_THREAD, MOST_OF_AN_ENTRY
from agents.models import InboxEntry, Message, MessageKind, Run
from heartbit_site.base import audit
from heartbit_site.base.ids import new_id
from heartbit_site.base.query import execute, fetch_one
from heartbit_site.base.untrusted import clean_text

WINDOW = timedelta(minutes=1)

# Hops of the run and its ancestors: each was planned by an agent or started by a message, and each
# has received messages. So two runs that read each other's messages count up, too.
_LED_HERE = """
    WITH RECURSIVE above AS (
        SELECT id, parent_id, hops FROM agents_run WHERE id = %s
        UNION ALL
        SELECT r.id, r.parent_id, r.hops FROM agents_run r JOIN above a ON r.id = a.parent_id
    )
    SELECT max(led.hops) FROM (
        SELECT hops FROM above
        UNION ALL
        SELECT m.hops + 1 FROM above a JOIN agents_message m ON m.run_id = a.id
        UNION ALL
        SELECT m.hops + 1 FROM above a JOIN agents_inboxentry e ON e.run_id = a.id
                                   JOIN agents_message m ON m.id = e.message_id
    ) led
"""


def check_rate(sender: Sender) -> None:
    """Limit an agent's messages per minute; the sender's lock makes the count exact.

    People's messages are limited by the API.

    Raises:
        MessageLimitReachedError: The agent's runs together have sent too many messages.
    """
    limit: int = settings.HEARTBIT_MESSAGES_PER_MINUTE
    if sender.by is not None or limit <= 0:
        return
    sent = Message.objects.filter(workspace=sender.workspace, sender=sender.address)
    if sent.filter(created_at__gt=Now() - WINDOW).count() >= limit:
        raise MessageLimitReachedError(
            f"An agent's limit is {limit} messages a minute, and you have reached it: continue "
            "without, or send it later."
        )


def hops_of(sender: Sender, answered: Message | None = None) -> int:
    """Return the number of messages that led to the one being written.

    Args:
        sender: Sender; its run's origin and the messages that run has read count. A person starts
            at 0.
        answered: Message being answered, which counts as well.

    Raises:
        MessageLimitReachedError: The number is above the limit.
    """
    if sender.run is None:
        return 0  # a person's message starts at 0
    hops = max(hops_to(sender.run), answered.hops + 1 if answered is not None else 0)
    limit: int = settings.HEARTBIT_MAX_MESSAGE_HOPS
    if hops > limit:
        raise MessageLimitReachedError(
            f"{hops} messages in a row led to this one, and the limit is {limit}: end it here, and "
            "say in your answer what is left to do."
        )
    return hops


def hops_to(run: Run) -> int:
    """Return the number of messages and agents' plans in a row that led to a run's next action."""
    return int(fetch_one(_LED_HERE, [run.pk])[0])


def refuse_sub_agent(sender: Sender) -> None:
    """Refuse a sub-agent's start of other agents; a run started by a question may ask.

    Raises:
        SubAgentError: The run was delegated.
    """
    if sender.run is not None and is_delegated(sender.run):
        raise SubAgentError(
            "A sub-agent cannot start other agents: say in your answer what is missing, and your "
            "orchestrator decides."
        )


def is_delegated(run: Run) -> bool:
    """Return True if the run is a sub-agent of a team, not started by a message."""
    return run.parent_id is not None and not Message.objects.filter(run_id=run.pk).exists()


def refuse_local(sender: Sender) -> None:
    """Refuse to start runs from a local run, whose process would not execute them.

    Raises:
        RunStateError: The run is local.
    """
    if sender.run is not None and sender.run.home == Placement.LOCAL:
        raise RunStateError(
            "This run works in one process, without the fleet, so nothing continues when it has "
            "ended: use ask_agent, which waits for the answer."
        )


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
