"""Channels: ways in for messages, and what came in by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router
from ninja.responses import Status as Answer

from agents.actions.remove_channel import remove_channel
from agents.actions.rotate_channel_secret import rotate_channel_secret
from agents.actions.save_channel import save_channel
from agents.errors import ChannelNotFoundError
from agents.models import Channel, InboundMessage
from heartbit_site.api import channel_outputs as forms
from heartbit_site.api.auth import MANAGE, access_of, workspace_of
from heartbit_site.api.channel_inputs import ChannelChangeIn, ChannelIn, columns_of
from heartbit_site.api.channel_outputs import (
    ChannelOut,
    ChannelsOut,
    InboundsOut,
    NewChannelOut,
)
from heartbit_site.api.fields import Word, row_id
from heartbit_site.api.openapi import answers
from heartbit_site.api.paging import USUAL, Cursor, Limit, page
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

router = Router(tags=["channels"])


@router.get("/channels", auth=MANAGE, response=answers(ChannelsOut), summary="List channels")
async def channels(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The workspace's channels, the newest first, without their secrets."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = Channel.objects.filter(workspace=workspace).select_related("made_by")
        found, following = page(rows, "-pk", cursor, limit)
        return {"channels": [forms.channel(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/channels",
    auth=MANAGE,
    response=answers(NewChannelOut, 409, status=201, body=True),
    summary="Make a channel",
)
async def create(request: HttpRequest, body: ChannelIn) -> Any:
    """Its secret is in this answer and nowhere else."""
    access = access_of(request)

    def make() -> dict[str, Any]:
        columns, password = columns_of(body)
        row = Channel(workspace=access.workspace, made_by_id=access.user_id, **columns)
        secret = save_channel(row, password=password, by=actor_of(access))
        return {**forms.channel(row), "secret": secret}

    return Answer(201, await orm.in_thread(make))


@router.patch(
    "/channels/{channel_id}",
    auth=MANAGE,
    response=answers(ChannelOut, 409, body=True),
    summary="Change a channel",
)
async def change(request: HttpRequest, channel_id: Word, body: ChannelChangeIn) -> Any:
    """Another mailbox is read from now on: what is in it already is not answered."""
    access = access_of(request)

    def save() -> dict[str, Any]:
        row = _find(access.workspace, channel_id)
        columns, password = columns_of(body)
        for name, value in columns.items():
            setattr(row, name, value)
        save_channel(row, password=password, by=actor_of(access))
        return forms.channel(row)

    return await orm.in_thread(save)


@router.delete(
    "/channels/{channel_id}",
    auth=MANAGE,
    response=answers(None, status=204),
    summary="Remove a channel",
)
async def remove(request: HttpRequest, channel_id: Word) -> Any:
    """Its conversations and runs stay; the log of what came in goes with it."""
    access = access_of(request)
    await orm.in_thread(
        lambda: remove_channel(_find(access.workspace, channel_id), by=actor_of(access))
    )
    return Answer(204, None)


@router.post(
    "/channels/{channel_id}/secret",
    auth=MANAGE,
    response=answers(NewChannelOut),
    summary="Give a channel a new secret",
)
async def rotate(request: HttpRequest, channel_id: Word) -> Any:
    """For 24 hours the former one is good as well. The new one is in this answer only."""
    access = access_of(request)

    def renew() -> dict[str, Any]:
        row = _find(access.workspace, channel_id)
        secret = rotate_channel_secret(row, by=actor_of(access))
        return {**forms.channel(row), "secret": secret}

    return await orm.in_thread(renew)


@router.get(
    "/channels/{channel_id}/messages",
    auth=MANAGE,
    response=answers(InboundsOut),
    summary="List what came in",
)
async def messages(
    request: HttpRequest, channel_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What was taken and what was refused, the newest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = InboundMessage.objects.filter(channel=_find(workspace, channel_id))
        found, following = page(rows, "-pk", cursor, limit)
        return {"messages": [forms.inbound(row) for row in found], "next": following}

    return await orm.in_thread(read)


def _find(workspace: Workspace, channel_id: str) -> Channel:
    rows = Channel.objects.filter(workspace=workspace, pk=row_id(channel_id))
    row = rows.select_related("made_by", "workspace").first()
    if row is None:
        raise ChannelNotFoundError("There is no such channel here: GET /channels lists them.")
    return row
