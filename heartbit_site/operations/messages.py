"""Messages between agents, people and programs."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from agents.actions.inbox import reply_to_message
from agents.actions.send_message import send_message as put_into_inboxes
from agents.actions.send_message import start_agent
from agents.errors import IdempotencyMismatchError
from agents.messaging.addresses import Sender, normalize_address, plain_address, sender_of_person
from agents.messaging.storage import checked_text, checked_thread
from agents.models import Message
from agents.reads.messages import load_message, messages_at, with_inboxes
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.base.preview import preview
from heartbit_site.contract.messages import (
    AgentMessageOut,
    AgentMessagesOut,
    AgentMessageSummaryOut,
    Kind,
    SendIn,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import list_page, with_beginning

To = Annotated[
    Word | None, Field(description="Filter by recipient: an agent's name, or a full address.")
]
By = Annotated[
    Word | None, Field(description="Filter by sender: an agent's name, or a full address.")
]
OnThread = Annotated[Word | None, Field(description="Filter by thread.")]


def list_messages(
    access: Access,
    *,
    to: To = None,
    sender: By = None,
    thread: OnThread = None,
    kind: Kind | None = None,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> AgentMessagesOut:
    """Return messages between agents, people and programs, the newest first.

    Long texts are cut: `GET /messages/{message_id}` returns the whole text.
    """
    given = {"thread": thread, "kind": kind}
    rows = messages_at(access.workspace, to=to, sender=sender)
    rows = rows.filter(**{name: value for name, value in given.items() if value is not None})
    rows = with_beginning(with_inboxes(rows), "body")
    return list_page(AgentMessagesOut, rows, "-pk", cursor, limit, _summary)


def show_message(access: Access, message_id: Word) -> AgentMessageOut:
    """Return one message with its whole text."""
    return _whole(load_message(access.workspace, message_id))


def send_message(
    access: Access, body: SendIn, *, idempotency_key: Word | None = None
) -> AgentMessageOut:
    """Send a message to inboxes, start a run with it, or reply to a message."""
    sender = sender_of_person(access.workspace, starter_of(access))
    made = _write(sender, body, f"api:{idempotency_key}" if idempotency_key else None)
    if idempotency_key:
        _check_same(made, body)
    return _whole(with_inboxes(Message.objects.filter(pk=made.pk)).get())


def _write(sender: Sender, body: SendIn, key: str | None) -> Message:
    if body.reply_to:
        return reply_to_message(sender, body.reply_to, body.text, key=key)
    if body.kind == "task":
        return start_agent(sender, body.to, body.text, key=key)
    return put_into_inboxes(sender, body.to, body.text, thread=body.thread, key=key)


def _check_same(made: Message, body: SendIn) -> None:
    """Check that a message, which may be an earlier one with the same key, is as requested.

    Raises:
        IdempotencyMismatchError: It is another one.
    """
    same = made.body == checked_text(body.text)
    if body.reply_to:
        same = same and made.in_reply_to == UUID(body.reply_to.strip())
    else:
        to = normalize_address(plain_address(body.to))
        thread = checked_thread(body.thread) or str(made.pk)
        asked = (body.kind, to, thread)
        same = same and (made.kind, made.recipient, made.thread) == asked
    if not same:
        raise IdempotencyMismatchError(
            f"The idempotency key was used for message {made.pk}, which is another one: send the "
            "same request again, or take another key."
        )


def _summary(row: Any) -> AgentMessageSummaryOut:
    return AgentMessageSummaryOut.of(row, body=preview(row.body_beginning))


def _whole(row: Message) -> AgentMessageOut:
    return AgentMessageOut.of(row, body_characters=len(row.body))
