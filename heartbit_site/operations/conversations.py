"""Conversations: threads with an agent, and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, start_conversation
from agents.choices import BusyPolicy
from agents.models import Conversation, Run
from agents.querysets import readable
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record, starter_of
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.pictures import Picture
from heartbit_site.contract.conversations import (
    ConversationChangeIn,
    ConversationIn,
    ConversationOut,
    ConversationPageOut,
    ConversationRowOut,
    MessageIn,
    PostedOut,
    ThreadOut,
)
from heartbit_site.contract.model import Cursor, Limit, Name, Word
from heartbit_site.contract.operation import PendingAnswer
from heartbit_site.operations.attached import after_reading, attachments
from heartbit_site.operations.messages_of_conversations import (
    find_conversation,
    find_message,
    heading_of,
    messages_of,
    with_activity,
)
from heartbit_site.operations.paging import list_page

WithAgent = Annotated[Name | None, Field(description="Only those with this agent.")]
Before = Annotated[Word | None, Field(description="Messages before this run's.")]
FewMessages = Annotated[int, Field(ge=1, le=100)]


class ConversationLiveError(ConflictError):
    """A run of the conversation is active."""


class OwnerlessConversationError(ConflictError):
    """A private conversation would have no owner: the caller is no person."""


def create_conversation(access: Access, body: ConversationIn) -> ConversationOut:
    """Create a conversation: the run that answers a message has the earlier ones as context."""
    if body.private and access.user_id is None:
        raise OwnerlessConversationError(
            f"A private conversation belongs to a person, which {access.name} is not: use the key "
            "of a member."
        )
    row = start_conversation(
        access.workspace,
        agent=body.agent,
        title=body.title,
        busy_policy=BusyPolicy(body.busy_policy),
        private_to=access.user_id if body.private else None,
        by=starter_of(access),
    )
    return ConversationOut.of(row)


def list_conversations(
    access: Access, *, agent: WithAgent = None, cursor: Cursor = None, limit: Limit = 30
) -> ConversationPageOut:
    """Return the workspace's conversations, the most recently used first."""
    # Those that came with a configuration file are its command's: their agents are not people's.
    rows = Conversation.objects.filter(readable(access), workspace=access.workspace, origin="")
    if agent:
        rows = rows.filter(agent=agent)

    def view(row: Any) -> ConversationRowOut:
        return ConversationRowOut.of(row, heading=heading_of(row.title, row.first_task))

    return list_page(ConversationPageOut, with_activity(rows), "-active", cursor, limit, view)


def show_conversation(
    access: Access, conversation_id: Word, *, limit: FewMessages = 30, before: Before = None
) -> ThreadOut:
    """Return a conversation with its last messages and their answers, the oldest first."""
    found = find_conversation(access, conversation_id)
    first = find_message(access, found, before) if before is not None else None
    row = with_activity(Conversation.objects.filter(pk=found.pk)).get()
    messages, earlier = messages_of(row, access, before=first, limit=limit)
    heading = heading_of(row.title, row.first_task)
    return ThreadOut.of(row, heading=heading, messages=messages, before=earlier)


def change_conversation(
    access: Access, conversation_id: Word, body: ConversationChangeIn
) -> ConversationOut:
    """Change the title, or the policy for a message while a run is active."""
    found = find_conversation(access, conversation_id)
    columns = {"title": body.title, "busy_policy": body.busy_policy}
    changes = {name: value for name, value in columns.items() if value is not None}
    for name, value in changes.items():
        setattr(found, name, value)
    found.save(update_fields=list(changes))
    return ConversationOut.of(found)


@transaction.atomic
def delete_conversation(access: Access, conversation_id: Word) -> None:
    """Delete a conversation; its runs and their cost are kept. 409 while one of them is active."""
    found = find_conversation(access, conversation_id, lock=True)
    live = Run.objects.filter(conversation=found, finished_at__isnull=True)
    run_id = live.order_by("created_at").values_list("pk", flat=True).first()
    if run_id is not None:
        raise ConversationLiveError(
            f"Run {run_id} of the conversation is active: wait for its end, or cancel it."
        )
    is_named = found.title and not found.private
    label = found.title if is_named else f"with {found.agent}"
    found.delete()
    record(
        actor_of(access),
        "conversation.delete",
        workspace=access.workspace,
        target=f"conversation:{conversation_id}",
        label=label,
    )


def post_message(
    access: Access, conversation_id: Word, body: MessageIn, *, idempotency_key: Word | None = None
) -> PostedOut | PendingAnswer[PostedOut]:
    """Send the agent a message; 409 if a run is active and the policy is `reject`."""
    given = attachments(access, body.images, body.documents)
    if given is None:
        return _posted(access, conversation_id, body, idempotency_key, (body.text, ()))
    find_conversation(access, conversation_id)
    return after_reading(
        access,
        partial(given.read_beside, body.text),
        lambda read: _posted(access, conversation_id, body, idempotency_key, read),
    )


@transaction.atomic  # so that the thread is not deleted meanwhile
def _posted(
    access: Access,
    conversation_id: str,
    body: MessageIn,
    key: str | None,
    read: tuple[str, Sequence[Picture]],
) -> PostedOut:
    policy, (text, pictures) = body.busy_policy, read
    request = RunRequest(
        access.workspace,
        text,
        pictures=pictures,
        conversation=find_conversation(access, conversation_id, lock=True),
        busy_policy=None if policy is None else BusyPolicy(policy),
        model=body.model,
        approve=body.require_approval,
        idempotency_key=key or None,
        by=starter_of(access),
    )
    return PostedOut.of(admit(request))
