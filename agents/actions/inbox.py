"""Read an agent's inbox, and reply to a message on its thread."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agents.choices import RunKind
from agents.errors import CallClosedError, RecipientError, UnknownMessageError
from agents.messaging.addresses import AGENT, Recipient, Sender, inbox_of
from agents.messaging.storage import checked_entry, hops_of, lock_sender, save_message
from agents.messaging.texts import as_inbox_entry, as_steering_text
from agents.models import Agent, InboxEntry, Message, MessageKind, Run
from agents.runs.sql_functions import call_function

_FRAME_BYTES = 60  # JSON around the messages in the result


@dataclass(frozen=True, slots=True)
class Read:
    """Messages, oldest first (per thread in its order), and the number still unread."""

    messages: tuple[dict[str, Any], ...]
    unread: int


@transaction.atomic
def read_inbox(run: Run, *, limit: int) -> Read:
    """Mark the oldest unread messages of a run's agent as read, and return them.

    Concurrent reads by one agent's runs are serialized, so that no run gets a thread's later
    message while another rolls back its reading of an earlier one.

    Args:
        run: The reading run, with its version.
        limit: Maximum number of messages; fewer if they would not fit into a tool's result.
    """
    unread = InboxEntry.objects.filter(agent=run.version.agent_id, read_at__isnull=True)
    entries = unread.select_for_update(of=("self",)).select_related("message").order_by("pk")
    room = run.version.max_tool_output_bytes - _FRAME_BYTES
    taken: list[InboxEntry] = []
    messages: list[dict[str, Any]] = []
    for entry in entries[:limit]:
        message = as_inbox_entry(entry.message)
        room -= len(json.dumps(message, ensure_ascii=False).encode())
        if messages and room < 0:
            break  # the first is always taken: it is too long only below the default limit
        taken.append(entry)
        messages.append(message)
    mine = InboxEntry.objects.filter(pk__in=[entry.pk for entry in taken])
    mine.update(read_at=timezone.now(), run_id=run.pk)
    return Read(tuple(messages), unread.count())


@transaction.atomic
def reply_to_message(
    sender: Sender, message_id: str, text: str, *, key: str | None = None
) -> Message:
    """Put a reply into the inbox of the message's author.

    If the message was written by an agent's run that has not ended, that run is steered with the
    reply after the commit. A reply to a person is addressed to them and read through the API.

    Args:
        sender: The author of the reply. An agent can answer the messages written to it, a person
            any message of the workspace.
        message_id: The message to answer.
        text: The reply.
        key: Repeating the key in the same workspace returns the same message.

    Raises:
        UnknownMessageError: The sender has received no such message.
        EmptyTaskError: ``text`` is blank.
        RecipientError: The message's author does not exist or is the sender, or the text is too
            long.
        MessageLimitReachedError: Too many message hops, or messages per minute.
    """
    words = checked_entry(text)
    answered = _find(sender, message_id)
    if answered.sender == sender.address:
        raise RecipientError("You wrote that message yourself: answer what others write.")
    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    hops = hops_of(sender, answered)
    columns = {"thread": answered.thread, "in_reply_to": answered.pk, "idempotency_key": key}
    reply = save_message(sender, MessageKind.REPLY, words, _writer(answered), hops, **columns)
    if answered.source_run_id is not None:

        def push() -> None:  # a function, because Django logs failures by name
            steer_with_reply(reply.pk)

        # A failure is only logged: the reply is in the inbox in any case.
        transaction.on_commit(push, robust=True)
    return reply


def steer_with_reply(reply_id: UUID) -> bool:
    """Move a reply from the inbox to the run; return True if that was done.

    Atomic and at most once: if the run has ended, or is no agent's, the reply stays unread for one
    that reads the inbox.
    """
    try:
        with transaction.atomic():
            return _push(reply_id)
    except CallClosedError:
        return False


def _push(reply_id: UUID) -> bool:
    # Lock the entry first and then the run, in the order of a run that reads its inbox.
    entries = InboxEntry.objects.select_for_update(of=("self",)).select_related("message")
    entry = entries.filter(message=reply_id, read_at__isnull=True).first()
    if entry is None:
        return False  # another run has read it already
    reply = entry.message
    if reply.in_reply_to is None:
        return False
    answered = Message.objects.filter(pk=reply.in_reply_to).first()
    if answered is None or answered.source_run_id is None:
        return False
    if not Run.objects.filter(pk=answered.source_run_id, kind=RunKind.AGENT).exists():
        return False  # no model of a run of another kind would read it
    # A person's reply gives the run new turns; an agent's does not, so that exchanges end.
    source = "person" if reply.source_run_id is None else "agent"
    run_id, text = answered.source_run_id, as_steering_text(reply)
    call_function(
        "SELECT heartbit_steer(%s, %s, %s, p_source => %s, p_user => heartbit_acts_for(%s))",
        [run_id, text, reply.sender, source, reply.source_run_id],
    )
    InboxEntry.objects.filter(pk=entry.pk).update(read_at=timezone.now(), run_id=run_id)
    return True


def _find(sender: Sender, message_id: str) -> Message:
    try:
        rows = Message.objects.filter(
            pk=UUID(message_id.strip()), workspace=sender.workspace, origin=sender.origin
        )
    except ValueError:
        rows = Message.objects.none()
    if sender.agent is not None:
        to_me = Q(recipient=sender.address) | Q(entries__agent=sender.agent)
        rows = rows.filter(to_me).distinct()
    found = rows.first()
    if found is None:
        raise UnknownMessageError(
            f"There is no message {message_id[:40]!r} to you: copy the id of one that you got."
        )
    return found


def _writer(answered: Message) -> Recipient:
    """Return the inbox of the agent that wrote the message, or the person's address."""
    if answered.source_run_id is None:
        return Recipient(answered.sender)
    agents = Agent.objects.filter(workspace=answered.workspace_id, origin=answered.origin)
    agent = agents.filter(versions__runs=answered.source_run_id).first()
    if agent is None:  # its run was deleted
        agent = agents.filter(name=answered.sender.removeprefix(AGENT)).first()
    if agent is None:
        raise RecipientError(f"{answered.sender} is gone: no one would read the answer.")
    return inbox_of(agent)
