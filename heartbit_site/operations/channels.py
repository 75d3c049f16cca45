"""Channels: endpoints for inbound messages, and the messages received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from agents.actions.channels import remove_channel as remove
from agents.actions.channels import save_channel
from agents.actions.webhooks import rotate_secret as rotate
from agents.delivery.targets import describe_targets
from agents.errors import ChannelNotFoundError
from agents.models import Channel, InboundMessage
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.channels import (
    ChannelChangeIn,
    ChannelIn,
    ChannelOut,
    ChannelsOut,
    InboundsOut,
    NewChannelOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page, page, row_id

V = TypeVar("V", bound=ChannelOut)


def list_channels(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> ChannelsOut:
    """Return the workspace's channels, the newest first, without their secrets."""
    rows = Channel.objects.filter(workspace=access.workspace).select_related("created_by")
    found, following = page(rows, "-pk", cursor, limit)
    return ChannelsOut(channels=_views(ChannelOut, found), next_cursor=following)


def create_channel(access: Access, body: ChannelIn) -> NewChannelOut:
    """Create a channel. Its secret is only in this response."""
    columns, password = _columns(body)
    row = Channel(workspace=access.workspace, created_by_id=access.user_id, **columns)
    secret = save_channel(row, password=password, by=actor_of(access))
    [view] = _views(NewChannelOut, [row], secret=secret)
    return view


def change_channel(access: Access, channel_id: Word, body: ChannelChangeIn) -> ChannelOut:
    """Change the given settings. Of a new mailbox, only mails that arrive from now on are read."""
    row = _find(access.workspace, channel_id)
    columns, password = _columns(body)
    for name, value in columns.items():
        setattr(row, name, value)
    save_channel(row, password=password, by=actor_of(access))
    [view] = _views(ChannelOut, [row])
    return view


def remove_channel(access: Access, channel_id: Word) -> None:
    """Delete a channel and its log of messages; its conversations and runs stay."""
    remove(_find(access.workspace, channel_id), by=actor_of(access))


def rotate_channel_secret(access: Access, channel_id: Word) -> NewChannelOut:
    """Replace the secret, returned only here; the previous one is valid for 24 hours more."""
    row = _find(access.workspace, channel_id)
    [view] = _views(NewChannelOut, [row], secret=rotate(row, by=actor_of(access)))
    return view


def list_inbound_messages(
    access: Access, channel_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> InboundsOut:
    """Return accepted and refused messages, the newest first."""
    rows = InboundMessage.objects.filter(channel=_find(access.workspace, channel_id))
    return list_page(InboundsOut, rows, "-pk", cursor, limit)


def _views(view: type[V], rows: Sequence[Channel], **more: str | None) -> list[V]:
    recipients = describe_targets([row.deliver for row in rows])
    return [view.of(row, recipients=one, **more) for row, one in zip(rows, recipients, strict=True)]


def _find(workspace: Workspace, channel_id: str) -> Channel:
    rows = Channel.objects.filter(workspace=workspace, pk=row_id(channel_id))
    missing = ChannelNotFoundError(
        "The workspace has no such channel.", remedy=Remedy("channels.list_channels")
    )
    return find_row(rows.select_related("created_by", "workspace"), missing)


def _columns(body: ChannelIn | ChannelChangeIn) -> tuple[dict[str, Any], str | None]:
    """Return the columns that a request sets, and the mailbox's password, if it has one."""
    sent = body.model_dump(exclude_unset=isinstance(body, ChannelChangeIn), exclude={"mailbox"})
    columns = {name: value for name, value in sent.items() if value is not None}
    if "require_approval" in columns:
        columns["approve"] = columns.pop("require_approval")
    if "mailbox" not in body.model_fields_set:
        return columns, None
    if body.mailbox is None:
        return {**columns, "imap_host": ""}, None
    parts = body.mailbox.model_dump(exclude={"password"})
    mailbox = {f"imap_{name}": value for name, value in parts.items()}
    return {**columns, **mailbox}, body.mailbox.password
