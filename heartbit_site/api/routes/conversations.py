"""Threads with an agent."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Header, Router
from ninja.responses import Status as Answer

from agents.actions.post_message import post_message, start_conversation
from heartbit_site.api import forms
from heartbit_site.api.auth import WRITE_RUNS, author_of, workspace_of
from heartbit_site.api.fields import Word  # noqa: TC001  ninja evaluates the annotations
from heartbit_site.api.inputs import ConversationIn, MessageIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import ConversationOut, PostedOut
from heartbit_site.api.threads import find_conversation
from heartbit_site.base import orm

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
    author = author_of(request)

    def say() -> dict[str, Any]:
        posted = post_message(
            find_conversation(workspace, conversation_id),
            body.text,
            by=author,
            model=body.model,
            idempotency_key=idempotency_key or None,
            second_message=body.second_message,
            approve=body.approve,
        )
        return {"run": str(posted.run_id), "outcome": posted.outcome}

    return Answer(201, await orm.in_thread(say))
