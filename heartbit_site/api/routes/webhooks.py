"""Webhooks: addresses that are told of events, and what they were told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router
from ninja.responses import Status as Answer

from agents.actions.remove_webhook import remove_webhook
from agents.actions.rotate_webhook_secret import rotate_webhook_secret
from agents.actions.save_webhook import save_webhook
from agents.actions.send_webhook_again import ping_webhook, send_webhook_again
from agents.errors import WebhookNotFoundError
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.api import webhook_outputs as forms
from heartbit_site.api.auth import MANAGE, access_of, workspace_of
from heartbit_site.api.fields import Word, row_id
from heartbit_site.api.openapi import answers
from heartbit_site.api.paging import USUAL, Cursor, Limit, page
from heartbit_site.api.webhook_inputs import WebhookChangeIn, WebhookIn  # noqa: TC001
from heartbit_site.api.webhook_outputs import (
    DeliveriesOut,
    DeliveryOut,
    NewWebhookOut,
    WebhookOut,
    WebhooksOut,
)
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

router = Router(tags=["webhooks"])


@router.get("/webhooks", auth=MANAGE, response=answers(WebhooksOut), summary="List webhooks")
async def webhooks(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The workspace's webhooks, the newest first, without their secrets."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = WebhookEndpoint.objects.filter(workspace=workspace).select_related("made_by")
        found, following = page(rows, "-pk", cursor, limit)
        return {"webhooks": [forms.webhook(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/webhooks",
    auth=MANAGE,
    response=answers(NewWebhookOut, 409, status=201, body=True),
    summary="Make a webhook",
)
async def create(request: HttpRequest, body: WebhookIn) -> Any:
    """It is told what happens from now on. Its secret is in this answer and nowhere else."""
    access = access_of(request)

    def make() -> dict[str, Any]:
        row = WebhookEndpoint(
            workspace=access.workspace, made_by_id=access.user_id, **body.model_dump()
        )
        secret = save_webhook(row, by=actor_of(access))
        return {**forms.webhook(row), "secret": secret}

    return Answer(201, await orm.in_thread(make))


@router.patch(
    "/webhooks/{webhook_id}",
    auth=MANAGE,
    response=answers(WebhookOut, body=True),
    summary="Change a webhook",
)
async def change(request: HttpRequest, webhook_id: Word, body: WebhookChangeIn) -> Any:
    """What happens while it is disabled is not told afterwards."""
    access = access_of(request)

    def save() -> dict[str, Any]:
        row = _find(access.workspace, webhook_id)
        for name, value in body.model_dump(exclude_none=True).items():
            setattr(row, name, value)
        save_webhook(row, by=actor_of(access))
        return forms.webhook(row)

    return await orm.in_thread(save)


@router.delete(
    "/webhooks/{webhook_id}",
    auth=MANAGE,
    response=answers(None, status=204),
    summary="Remove a webhook",
)
async def remove(request: HttpRequest, webhook_id: Word) -> Any:
    """The log of what it was told goes with it."""
    access = access_of(request)
    await orm.in_thread(
        lambda: remove_webhook(_find(access.workspace, webhook_id), by=actor_of(access))
    )
    return Answer(204, None)


@router.post(
    "/webhooks/{webhook_id}/secret",
    auth=MANAGE,
    response=answers(NewWebhookOut),
    summary="Give a webhook a new secret",
)
async def rotate(request: HttpRequest, webhook_id: Word) -> Any:
    """For 24 hours the former one signs as well. The new one is in this answer and nowhere else."""
    access = access_of(request)

    def renew() -> dict[str, Any]:
        row = _find(access.workspace, webhook_id)
        secret = rotate_webhook_secret(row, by=actor_of(access))
        return {**forms.webhook(row), "secret": secret}

    return await orm.in_thread(renew)


@router.post(
    "/webhooks/{webhook_id}/ping",
    auth=MANAGE,
    response=answers(DeliveryOut, 409, status=201),
    summary="Try a webhook",
)
async def ping(request: HttpRequest, webhook_id: Word) -> Any:
    """A message of type `ping` goes out within seconds; its deliveries tell what came of it."""
    access = access_of(request)

    def send() -> dict[str, Any]:
        row = _find(access.workspace, webhook_id)
        return forms.delivery(ping_webhook(row, by=actor_of(access)))

    return Answer(201, await orm.in_thread(send))


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    auth=MANAGE,
    response=answers(DeliveriesOut),
    summary="List deliveries",
)
async def deliveries(
    request: HttpRequest, webhook_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What the webhook was told, and what will be, the newest first, without the payloads.

    `GET /webhooks/{webhook_id}/deliveries/{delivery_id}` has what is posted.
    """
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = WebhookDelivery.objects.filter(endpoint=_find(workspace, webhook_id))
        found, following = page(rows.defer("payload"), "-pk", cursor, limit)
        return {"deliveries": [forms.delivery_summary(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.get(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}",
    auth=MANAGE,
    response=answers(DeliveryOut),
    summary="Get a delivery",
)
async def delivery(request: HttpRequest, webhook_id: Word, delivery_id: Word) -> Any:
    """Return one message with what is posted."""
    workspace = workspace_of(request)
    return await orm.in_thread(
        lambda: forms.delivery(_find_delivery(_find(workspace, webhook_id), delivery_id))
    )


@router.post(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/again",
    auth=MANAGE,
    response=answers(DeliveryOut, 409),
    summary="Send a message again",
)
async def again(request: HttpRequest, webhook_id: Word, delivery_id: Word) -> Any:
    """The same message, under the same id; 409 while it is on its way."""
    access = access_of(request)

    def send() -> dict[str, Any]:
        row = _find_delivery(_find(access.workspace, webhook_id), delivery_id)
        send_webhook_again(row, by=actor_of(access))
        return forms.delivery(row)

    return await orm.in_thread(send)


def _find(workspace: Workspace, webhook_id: str) -> WebhookEndpoint:
    rows = WebhookEndpoint.objects.filter(workspace=workspace, pk=row_id(webhook_id))
    row = rows.select_related("made_by", "workspace").first()
    if row is None:
        raise WebhookNotFoundError("There is no such webhook here: GET /webhooks lists them.")
    return row


def _find_delivery(endpoint: WebhookEndpoint, delivery_id: str) -> WebhookDelivery:
    rows = WebhookDelivery.objects.filter(endpoint=endpoint, pk=row_id(delivery_id))
    row = rows.select_related("endpoint__workspace").first()
    if row is None:
        raise WebhookNotFoundError(
            "The webhook has no such delivery: GET /webhooks/{webhook}/deliveries lists them."
        )
    return row
