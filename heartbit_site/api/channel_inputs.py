"""What requests about channels hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from agents.models.channel import MOST_AN_HOUR
from heartbit_site.api.fields import Name, Targets, Word
from heartbit_site.api.inputs import Body

ChannelName = Annotated[Word, Field(min_length=1, max_length=100)]
MappingOf = Annotated[
    dict[str, JsonValue],
    Field(
        description="Of a webhook: the texts task, title, conversation and sender, with fields of "
        "the body such as {ticket.id}, and `only`: fields and the values they must have."
    ),
]
Senders = Annotated[
    list[Word],
    Field(max_length=1000, description='Addresses, "@example.org", or "*" for everybody.'),
]
Limit = Annotated[int, Field(ge=1, le=MOST_AN_HOUR, description="Messages an hour.")]
Port = Annotated[int, Field(ge=1, le=65_535)]


class MailboxIn(Body):
    """A mailbox that is read; nothing in it is changed."""

    host: Annotated[Word, Field(max_length=253)]
    port: Port = 993
    security: Literal["tls", "starttls", "none"] = "tls"
    user: Word
    password: Word | None = Field(None, description="Left out: as it is.")
    folder: Word = "INBOX"


class ChannelIn(Body):
    """A way in: what arrives is a task for an agent."""

    name: ChannelName = Field(description="What comes in there, such as support mailbox.")
    kind: Literal["email", "webhook"]
    agent: Name
    enabled: bool = True
    approve: bool = Field(default=False, description="Every tool call waits for a person.")
    hourly_limit: Limit = 60
    deliver: Targets = Field(default_factory=list)
    mapping: MappingOf = Field(default_factory=dict)
    senders: Senders = Field(default_factory=list)
    reply: bool = Field(default=True, description="Answer a mail's sender, in its thread.")
    mailbox: MailboxIn | None = None


class ChannelChangeIn(Body):
    """What is to be different; what is left out stays."""

    name: ChannelName | None = None
    agent: Name | None = None
    enabled: bool | None = None
    approve: bool | None = None
    hourly_limit: Limit | None = None
    deliver: Targets | None = None
    mapping: MappingOf | None = None
    senders: Senders | None = None
    reply: bool | None = None
    mailbox: MailboxIn | None = Field(None, description="All of it; null: none is read any more.")


def columns_of(body: ChannelIn | ChannelChangeIn) -> tuple[dict[str, Any], str | None]:
    """The columns that a request sets, and the mailbox's password, if it has one."""
    sent = body.model_dump(exclude_unset=isinstance(body, ChannelChangeIn), exclude={"mailbox"})
    columns = {name: value for name, value in sent.items() if value is not None}
    if "mailbox" not in body.model_fields_set:
        return columns, None
    if body.mailbox is None:
        return {**columns, "imap_host": ""}, None
    parts = body.mailbox.model_dump(exclude={"password"})
    mailbox = {f"imap_{name}": value for name, value in parts.items()}
    return {**columns, **mailbox}, body.mailbox.password
