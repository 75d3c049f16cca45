"""What responses about messages between agents hold, and rows in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.api.forms import beginning, time
from heartbit_site.contract.model import Next  # noqa: TC001
from heartbit_site.operations.beginnings import with_beginning

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from agents.models import Message


class SentSummaryOut(Schema):
    """A message in a list; the whole of its text is in `GET /messages/{message_id}`."""

    message: str
    sender: str = Field(description="agent:NAME or person:NAME.")
    to: str = Field(description="agent:NAME, broadcast or, for answers, person:NAME.")
    kind: Literal["notification", "reply", "request", "task"]
    thread: str
    number: int = Field(description="Its place on the thread, from 1.")
    text: str = Field(description="Its first 500 characters, the last of them … if it is longer.")
    text_characters: int = Field(description="Length of the whole text.")
    in_reply_to: str | None
    written_by_run: str | None = Field(description="Null: a person or a program wrote it.")
    run: str | None = Field(description="The run that it started: its result is the answer.")
    hops: int = Field(description="How many messages in a row led to it.")
    expires_at: str | None = Field(description="When whoever asked waits no more.")
    inboxes: int = Field(description="In how many agents' inboxes it was put.")
    unread: int = Field(description="In how many of these it is unread.")
    created_at: str


class SentOut(SentSummaryOut):
    """A message."""

    text: str


class SentPageOut(Schema):
    """Messages, the newest first."""

    messages: list[SentSummaryOut]
    next: Next


def summaries(rows: QuerySet[Message]) -> QuerySet[Any]:
    """Leave the whole texts in the database, as ``message_summary`` reads the rest."""
    return with_beginning(rows, "body")


def message_summary(row: Any) -> dict[str, Any]:
    """Serialize a message of a list; it comes from ``summaries``."""
    return {**_facts(row), **beginning(row, "body", "text")}


def message(row: Message) -> dict[str, Any]:
    """Serialize a message with the whole of its text."""
    return {**_facts(row), "text": row.body, "text_characters": len(row.body)}


def _facts(row: Message) -> dict[str, Any]:
    """Serialize all but the text of a message whose inboxes are counted (``with_inboxes``)."""
    return {
        "message": str(row.pk),
        "sender": row.sender,
        "to": row.recipient,
        "kind": str(row.kind),
        "thread": row.thread,
        "number": row.seq,
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
