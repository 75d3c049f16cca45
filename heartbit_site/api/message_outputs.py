"""What responses about messages between agents hold, and rows in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.api.forms import time
from heartbit_site.api.paging import Next  # noqa: TC001  pydantic evaluates the annotations

if TYPE_CHECKING:
    from agents.models import Message


class SentOut(Schema):
    """A message."""

    message: str
    sender: str = Field(description="agent:NAME or person:NAME.")
    to: str = Field(description="agent:NAME, broadcast or, for answers, person:NAME.")
    kind: Literal["notification", "reply", "request", "task"]
    thread: str
    number: int = Field(description="Its place on the thread, from 1.")
    text: str
    in_reply_to: str | None
    written_by_run: str | None = Field(description="Null: a person or a program wrote it.")
    run: str | None = Field(description="The run that it started: its result is the answer.")
    hops: int = Field(description="How many messages in a row led to it.")
    expires_at: str | None = Field(description="When whoever asked waits no more.")
    inboxes: int = Field(description="In how many agents' inboxes it was put.")
    unread: int = Field(description="In how many of these it is unread.")
    created_at: str


class SentPageOut(Schema):
    """Messages, the newest first."""

    messages: list[SentOut]
    next: Next


def message(row: Message) -> dict[str, Any]:
    """A message, with its inboxes counted (``inboxes``, ``unread``)."""
    return {
        "message": str(row.pk),
        "sender": row.sender,
        "to": row.recipient,
        "kind": str(row.kind),
        "thread": row.thread,
        "number": row.seq,
        "text": row.body,
        "in_reply_to": _id(row.in_reply_to),
        "written_by_run": _id(row.source_run_id),
        "run": _id(row.run_id),
        "hops": row.hops,
        "expires_at": time(row.expires_at),
        "inboxes": getattr(row, "inboxes", 0),
        "unread": getattr(row, "unread", 0),
        "created_at": time(row.created_at),
    }


def _id(value: object) -> str | None:
    return None if value is None else str(value)
