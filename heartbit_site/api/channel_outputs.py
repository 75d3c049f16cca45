"""What responses about channels hold, and rows in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings
from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.api.forms import time
from heartbit_site.api.paging import Next  # noqa: TC001  pydantic evaluates the annotations

if TYPE_CHECKING:
    from agents.models import Channel, InboundMessage


class MailboxOut(Schema):
    """The mailbox that a channel reads, without its password."""

    host: str
    port: int
    security: Literal["tls", "starttls", "none"]
    user: str
    folder: str
    looked_at: str | None = Field(description="When it was last read; null: never.")
    trouble: str = Field(description="Why it could not be read then; empty: it could.")


class ChannelOut(Schema):
    """A way in, without its secret."""

    channel: int
    name: str
    kind: Literal["email", "webhook"]
    agent: str
    enabled: bool
    approve: bool
    hourly_limit: int
    deliver: list[dict[str, JsonValue]]
    mapping: dict[str, JsonValue]
    senders: list[str]
    reply: bool
    mailbox: MailboxOut | None
    url: str = Field(description="Where signed messages are posted to.")
    made_by: str | None = Field(description="Null: a key that a command made.")
    created_at: str
    former_secret_until: str | None = Field(description="Until then both secrets are good.")


class NewChannelOut(ChannelOut):
    """A channel whose secret was made just now."""

    secret: str = Field(description="whsec_...; shown only this once.")


class ChannelsOut(Schema):
    """The workspace's channels, the newest first."""

    channels: list[ChannelOut]
    next: Next


class InboundOut(Schema):
    """A message that came in."""

    id: str = Field(description="A webhook-id, or a mail's Message-ID.")
    sender: str
    title: str
    status: Literal["accepted", "refused"]
    reason: str = Field(description="Why it was refused.")
    run: str | None = Field(description="What answers it; it may be archived by now.")
    conversation: str | None
    received_at: str


class InboundsOut(Schema):
    """What came in within 90 days, the newest first."""

    messages: list[InboundOut]
    next: Next


class TakenOut(Schema):
    """What became of a message."""

    run: str | None = Field(description="What answers it; null: nobody does.")
    conversation: str | None
    repeated: bool = Field(description="It came before, and nothing was done now.")


def channel(row: Channel) -> dict[str, Any]:
    """A channel, with whoever made it loaded."""
    return {
        "channel": row.pk,
        "name": row.name,
        "kind": str(row.kind),
        "agent": row.agent,
        "enabled": row.enabled,
        "approve": row.approve,
        "hourly_limit": row.hourly_limit,
        "deliver": row.deliver,
        "mapping": row.mapping,
        "senders": row.senders,
        "reply": row.reply,
        "mailbox": _mailbox(row) if row.imap_host else None,
        "url": f"{settings.HEARTBIT_PUBLIC_URL}{row.path}",
        "made_by": row.made_by.get_username() if row.made_by is not None else None,
        "created_at": time(row.created_at),
        "former_secret_until": time(row.former_until),
    }


def inbound(row: InboundMessage) -> dict[str, Any]:
    """A message that came in."""
    return {
        "id": row.external_id,
        "sender": row.sender,
        "title": row.title,
        "status": str(row.status),
        "reason": row.reason,
        "run": str(row.run_id) if row.run_id else None,
        "conversation": str(row.conversation_id) if row.conversation_id else None,
        "received_at": time(row.received_at),
    }


def _mailbox(row: Channel) -> dict[str, Any]:
    return {
        "host": row.imap_host,
        "port": row.imap_port,
        "security": str(row.imap_security),
        "user": row.imap_user,
        "folder": row.imap_folder,
        "looked_at": time(row.looked_at),
        "trouble": row.trouble,
    }
