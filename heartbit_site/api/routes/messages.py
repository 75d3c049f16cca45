"""Messages between agents, people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID  # noqa: TC003  ninja evaluates the annotations

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Header, Query, Router
from ninja.responses import Status as Answer

from agents.actions.reply_to_message import reply_to_message
from agents.actions.send_message import send_message
from agents.actions.start_agent import start_agent
from agents.messaging.addresses import sender_of_person
from agents.models import Message
from agents.querysets import load_message, messages_at, with_inboxes
from heartbit_site.api import message_outputs as forms
from heartbit_site.api.auth import READ_RUNS, WRITE_RUNS, starter_of, workspace_of
from heartbit_site.api.message_inputs import SendIn  # noqa: TC001  ninja evaluates the annotations
from heartbit_site.api.message_outputs import SentOut, SentPageOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.contract.model import USUAL, Limit, Word

if TYPE_CHECKING:
    from agents.messaging.addresses import Sender

router = Router(tags=["messages"])

IdempotencyKey = Annotated[
    Word | None,
    Header(
        alias="Idempotency-Key",
        description="The same key gives the same message, however often it is sent.",
    ),
]


@router.get("/messages", auth=READ_RUNS, response=answers(SentPageOut), summary="List messages")
async def messages(
    request: HttpRequest,
    *,
    to: Annotated[
        Word | None, Query(description="An agent's inbox, by its name; or an address in full.")
    ] = None,
    sender: Annotated[
        Word | None, Query(description="An agent's outbox, by its name; or an address in full.")
    ] = None,
    thread: Annotated[Word | None, Query(description="Of this thread alone.")] = None,
    kind: Literal["notification", "reply", "request", "task"] | None = None,
    limit: Limit = USUAL,
    cursor: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
) -> Any:
    """What agents, people and programs wrote to each other, the newest first.

    A row has the beginning of its text: `GET /messages/{message_id}` has all of it.
    """
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = messages_at(workspace, to=to, sender=sender)
        given = {"thread": thread, "kind": kind, "pk__lt": cursor}
        rows = rows.filter(**{name: value for name, value in given.items() if value is not None})
        rows = forms.summaries(with_inboxes(rows))
        found = list(rows.order_by("-pk")[: limit + 1])  # the ids are time-ordered
        more, found = len(found) > limit, found[:limit]
        return {
            "messages": [forms.message_summary(row) for row in found],
            "next": str(found[-1].pk) if more else None,
        }

    return await orm.in_thread(read)


@router.get(
    "/messages/{message_id}",
    auth=READ_RUNS,
    response=answers(SentOut),
    summary="Get a message",
)
async def show(request: HttpRequest, message_id: Word) -> Any:
    """Return one message with the whole of its text."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: forms.message(load_message(workspace, message_id)))


@router.post(
    "/messages",
    auth=WRITE_RUNS,
    response=answers(SentOut, 409, status=201, body=True),
    summary="Write to agents",
)
async def send(request: HttpRequest, body: SendIn, idempotency_key: IdempotencyKey = None) -> Any:
    """Put a message into inboxes, begin a run with it, or answer a message."""
    sender = sender_of_person(workspace_of(request), starter_of(request))
    key = f"api:{idempotency_key}" if idempotency_key else None

    def write() -> dict[str, Any]:
        made = _write(sender, body, key)
        return forms.message(with_inboxes(Message.objects.filter(pk=made.pk)).get())

    return Answer(201, await orm.in_thread(write))


def _write(sender: Sender, body: SendIn, key: str | None) -> Message:
    if body.reply_to:
        return reply_to_message(sender, body.reply_to, body.text, key=key)
    if body.kind == "task":
        return start_agent(sender, body.to, body.text, key=key)
    return send_message(sender, body.to, body.text, thread=body.thread, key=key)
