"""Channels: endpoints for inbound messages, and the messages received."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Name, Page, Targets, Word, changes
from heartbit_site.contract.operation import MANAGE, Noun
from heartbit_site.contract.webhooks import SECRET, EndpointOut

MOST_AN_HOUR = 10_000

Kind = Literal["email", "webhook"]
Security = Literal["tls", "starttls", "none"]


class MailboxOut(View):
    """The mailbox that a channel reads, without its password."""

    host: str = Field(validation_alias="imap_host")
    port: int = Field(validation_alias="imap_port")
    security: Security = Field(validation_alias="imap_security")
    user: str = Field(validation_alias="imap_user")
    folder: str = Field(validation_alias="imap_folder")
    last_polled_at: Time | None = Field(description="Time of the last poll; null: never.")
    last_error: str = Field(description="Error of the last poll; empty: it succeeded.")


class ChannelOut(EndpointOut):
    """A channel, without its secret."""

    url: str = Field(description="URL for signed messages.")
    kind: Kind
    agent: str
    require_approval: bool = Field(validation_alias="approve")
    hourly_limit: int
    deliver: list[dict[str, JsonValue]] = Field(description="Further recipients of each answer.")
    recipients: list[str] = Field(description="The recipients as text, webhooks by name.")
    mapping: dict[str, JsonValue]
    senders: list[str]
    reply: bool
    mailbox: MailboxOut | None


class NewChannelOut(ChannelOut):
    """A channel with its new secret."""

    secret: str = SECRET


class ChannelsOut(Page):
    """The workspace's channels, the newest first."""

    channels: list[ChannelOut]


class InboundOut(View):
    """A received message."""

    id: str = Field(
        validation_alias="external_id", description="A webhook-id, or a mail's Message-ID."
    )
    sender: str
    title: str
    status: Literal["accepted", "refused"]
    reason: str = Field(description="Reason for the refusal.")
    run_id: Id | None = Field(
        description="Run that answers the message; it may have been archived since."
    )
    conversation_id: Id | None
    received_at: Time


class InboundsOut(Page):
    """Messages received within 90 days, the newest first."""

    messages: list[InboundOut]


class InboundReceiptOut(View):
    """Receipt for a message."""

    run_id: Id | None = Field(description="Run that answers the message; null if none does.")
    conversation_id: Id | None
    duplicate: bool = Field(
        validation_alias="is_duplicate",
        description="True for a duplicate, which had no effect.",
    )


class MailboxIn(Body):
    """A mailbox to read; nothing in it is changed."""

    host: Annotated[Word, Field(max_length=253, description="Server of the mailbox.")]
    port: int = Field(993, ge=1, le=65_535, description="Port of the server.")
    security: Security = Field("tls", description="Encryption of the connection.")
    user: Word = Field(description="Name to log in with.")
    password: Word | None = Field(None, description="Left out: as it is.")
    folder: Word = Field("INBOX", description="Folder that is read.")


class ChannelIn(Body):
    """A channel: each message that arrives is a task for an agent."""

    name: Annotated[Word, Field(min_length=1, max_length=100)] = Field(
        description="Purpose of the channel, such as support mailbox."
    )
    kind: Kind
    agent: Name = Field(description="Agent that answers.")
    enabled: bool = Field(default=True, description="Messages are taken.")
    require_approval: bool = Field(default=False, description="Every tool call waits for a person.")
    hourly_limit: int = Field(60, ge=1, le=MOST_AN_HOUR, description="Limit of messages an hour.")
    deliver: Targets = Field(default_factory=list)
    mapping: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Templates of a webhook: the texts task, title, conversation and sender, with "
        "fields of the body such as {ticket.id}, and `only`: fields and the values they must have.",
    )
    senders: list[Word] = Field(
        default_factory=list,
        max_length=1000,
        description='Addresses that may write, "@example.org", or "*" for everybody.',
    )
    reply: bool = Field(default=True, description="A mail's sender is answered, in its thread.")
    mailbox: MailboxIn | None = None


@changes("kind")
class ChannelChangeIn(ChannelIn):
    """Settings to change; a setting that is left out stays."""

    mailbox: MailboxIn | None = Field(None, description="The whole mailbox; null: read none.")


NOUN = Noun("channels", read=MANAGE, write=MANAGE)

LIST_CHANNELS = NOUN.get(
    "list_channels", "/channels", ChannelsOut, command="`heartbit channels list`"
)
CREATE_CHANNEL = NOUN.post(
    "create_channel", "/channels", NewChannelOut, body=ChannelIn, status=201, errors=(409,)
)
CHANGE_CHANNEL = NOUN.patch(
    "change_channel", "/channels/{channel_id}", ChannelOut, body=ChannelChangeIn, errors=(409,)
)
REMOVE_CHANNEL = NOUN.delete("remove_channel", "/channels/{channel_id}")
ROTATE_CHANNEL_SECRET = NOUN.post(
    "rotate_channel_secret", "/channels/{channel_id}/rotate-secret", NewChannelOut,
    "Rotate a channel's secret",
)  # fmt: skip
LIST_INBOUND_MESSAGES = NOUN.get(
    "list_inbound_messages", "/channels/{channel_id}/messages", InboundsOut
)
