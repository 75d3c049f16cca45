"""Threads with an agent."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID  # noqa: TC003  ninja evaluates the annotations

from django.db import transaction
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Header, Query, Router
from ninja.responses import Status as Answer

from agents.actions.post_message import post_message, start_conversation
from agents.models import Conversation
from heartbit_site.api import forms, thread_forms
from heartbit_site.api.auth import READ_RUNS, WRITE_RUNS, access_of, starter_of, workspace_of
from heartbit_site.api.inputs import ConversationIn, MessageIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import ConversationOut, PostedOut
from heartbit_site.api.thread_inputs import ConversationChangeIn  # noqa: TC001
from heartbit_site.api.thread_outputs import ConversationPageOut, ThreadOut
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import Name, Word  # noqa: TC001
from heartbit_site.operations.threads import (
    change_conversation,
    delete_conversation,
    find_conversation,
    find_message,
    page_of,
    with_activity,
)

router = Router(tags=["conversations"])


@router.post(
    "/conversations",
    auth=WRITE_RUNS,
    response=answers(ConversationOut, 404, status=201, body=True),
    summary="Begin a conversation",
)
async def begin(request: HttpRequest, body: ConversationIn) -> Any:
    """A thread: each message is answered by a run that knows what was said before."""
    workspace = workspace_of(request)
    row = await orm.in_thread(
        lambda: start_conversation(
            workspace,
            agent=body.agent,
            title=body.title,
            second_message=body.second_message,
        )
    )
    return Answer(201, forms.conversation(row))


@router.get(
    "/conversations",
    auth=READ_RUNS,
    response=answers(ConversationPageOut, 404),
    summary="List conversations",
)
async def list_conversations(
    request: HttpRequest,
    *,
    agent: Annotated[Name | None, Query(description="Only those with this agent.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 30,
    cursor: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
) -> Any:
    """The one last used first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows, following = page_of(workspace, agent=agent or "", cursor=cursor, limit=limit)
        return {
            "conversations": [thread_forms.row(row) for row in rows],
            "next": str(following) if following else None,
        }

    return await orm.in_thread(read)


@router.get(
    "/conversations/{conversation_id}",
    auth=READ_RUNS,
    response=answers(ThreadOut, 404),
    summary="A conversation",
)
async def show(
    request: HttpRequest,
    conversation_id: Word,
    *,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    before: Annotated[Word | None, Query(description="Messages before this run's.")] = None,
) -> Any:
    """What was said on it: the last messages with their answers, the oldest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        found = find_conversation(workspace, conversation_id)
        first = find_message(found, before) if before is not None else None
        row = with_activity(Conversation.objects.filter(pk=found.pk)).get()
        said = thread_forms.messages(row, before=first, limit=limit)
        return {**thread_forms.row(row), **said}

    return await orm.in_thread(read)


@router.patch(
    "/conversations/{conversation_id}",
    auth=WRITE_RUNS,
    response=answers(ConversationOut, 404, body=True),
    summary="Rename a conversation",
)
async def change(request: HttpRequest, conversation_id: Word, body: ConversationChangeIn) -> Any:
    """Give it another title, or another policy for second messages."""
    workspace = workspace_of(request)

    def save() -> dict[str, Any]:
        found = find_conversation(workspace, conversation_id)
        change_conversation(found, body.model_dump(exclude_none=True))
        return forms.conversation(found)

    return await orm.in_thread(save)


@router.delete(
    "/conversations/{conversation_id}",
    auth=WRITE_RUNS,
    response=answers(None, 404, 409, status=204),
    summary="Delete a conversation",
)
async def delete(request: HttpRequest, conversation_id: Word) -> Any:
    """The thread is gone; its runs stay, with what they cost. 409 as long as one is live."""
    access = access_of(request)
    by = actor_of(access)
    await orm.in_thread(lambda: delete_conversation(access.workspace, conversation_id, by=by))
    return Answer(204, None)


@router.post(
    "/conversations/{conversation_id}/messages",
    auth=WRITE_RUNS,
    response=answers(PostedOut, 404, 409, status=201, body=True),
    summary="Say something",
)
async def post(
    request: HttpRequest,
    conversation_id: Word,
    body: MessageIn,
    idempotency_key: Annotated[Word | None, Header(alias="Idempotency-Key")] = None,
) -> Any:
    """Give the agent a message; 409 when the last one is worked on and the policy is to refuse."""
    workspace = workspace_of(request)
    starter = starter_of(request)

    def say() -> dict[str, Any]:
        with transaction.atomic():  # so that the thread is not deleted meanwhile
            posted = post_message(
                find_conversation(workspace, conversation_id, lock=True),
                body.text,
                by=starter,
                model=body.model,
                idempotency_key=idempotency_key or None,
                second_message=body.second_message,
                approve=body.approve,
            )
        return {"run": str(posted.run_id), "outcome": posted.outcome}

    return Answer(201, await orm.in_thread(say))
