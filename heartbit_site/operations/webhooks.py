"""Webhooks: addresses that are told of events, and what they were told."""

from __future__ import annotations

from agents.actions.redeliver_webhook import ping_webhook as ping
from agents.actions.redeliver_webhook import redeliver_webhook as redeliver
from agents.actions.remove_webhook import remove_webhook as remove
from agents.actions.rotate_webhook_secret import rotate_webhook_secret as rotate
from agents.actions.save_webhook import save_webhook
from agents.errors import WebhookNotFoundError
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.models import Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.webhooks import (
    DeliveriesOut,
    DeliveryOut,
    DeliverySummaryOut,
    NewWebhookOut,
    WebhookChangeIn,
    WebhookIn,
    WebhookOut,
    WebhooksOut,
)
from heartbit_site.operations.paging import page, row_id


def list_webhooks(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> WebhooksOut:
    """The workspace's webhooks, the newest first, without their secrets."""
    rows = WebhookEndpoint.objects.filter(workspace=access.workspace).select_related("created_by")
    found, following = page(rows, "-pk", cursor, limit)
    return WebhooksOut(webhooks=[WebhookOut.of(row) for row in found], next_cursor=following)


def create_webhook(access: Access, body: WebhookIn) -> NewWebhookOut:
    """It is told what happens from now on. Its secret is in this answer and nowhere else."""
    row = WebhookEndpoint(
        workspace=access.workspace, created_by_id=access.user_id, **body.model_dump()
    )
    return NewWebhookOut.of(row, secret=save_webhook(row, by=actor_of(access)))


def change_webhook(access: Access, webhook_id: Word, body: WebhookChangeIn) -> WebhookOut:
    """What happens while it is disabled is not told afterwards."""
    row = _find(access.workspace, webhook_id)
    for name, value in body.model_dump(exclude_none=True).items():
        setattr(row, name, value)
    save_webhook(row, by=actor_of(access))
    return WebhookOut.of(row)


def remove_webhook(access: Access, webhook_id: Word) -> None:
    """The log of what it was told goes with it."""
    remove(_find(access.workspace, webhook_id), by=actor_of(access))


def rotate_webhook_secret(access: Access, webhook_id: Word) -> NewWebhookOut:
    """For 24 hours the former one signs as well. The new one is in this answer and nowhere else."""
    row = _find(access.workspace, webhook_id)
    return NewWebhookOut.of(row, secret=rotate(row, by=actor_of(access)))


def ping_webhook(access: Access, webhook_id: Word) -> DeliveryOut:
    """A message of type `ping` goes out within seconds; its deliveries tell what came of it."""
    row = _find(access.workspace, webhook_id)
    return DeliveryOut.of(ping(row, by=actor_of(access)))


def list_webhook_deliveries(
    access: Access, webhook_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> DeliveriesOut:
    """What the webhook was told, and what will be, the newest first, without the payloads.

    `GET /webhooks/{webhook_id}/deliveries/{delivery_id}` has what is posted.
    """
    rows = WebhookDelivery.objects.filter(endpoint=_find(access.workspace, webhook_id))
    found, following = page(rows.defer("payload"), "-pk", cursor, limit)
    return DeliveriesOut(
        deliveries=[DeliverySummaryOut.of(row) for row in found], next_cursor=following
    )


def show_webhook_delivery(access: Access, webhook_id: Word, delivery_id: Word) -> DeliveryOut:
    """Return one message with what is posted."""
    return DeliveryOut.of(_find_delivery(_find(access.workspace, webhook_id), delivery_id))


def redeliver_webhook(access: Access, webhook_id: Word, delivery_id: Word) -> DeliveryOut:
    """The same message, under the same id; 409 while it is on its way."""
    row = _find_delivery(_find(access.workspace, webhook_id), delivery_id)
    redeliver(row, by=actor_of(access))
    return DeliveryOut.of(row)


def _find(workspace: Workspace, webhook_id: str) -> WebhookEndpoint:
    rows = WebhookEndpoint.objects.filter(workspace=workspace, pk=row_id(webhook_id))
    row = rows.select_related("created_by", "workspace").first()
    if row is None:
        raise WebhookNotFoundError("There is no such webhook here: GET /webhooks lists them.")
    return row


def _find_delivery(endpoint: WebhookEndpoint, delivery_id: str) -> WebhookDelivery:
    rows = WebhookDelivery.objects.filter(endpoint=endpoint, pk=row_id(delivery_id))
    row = rows.select_related("endpoint__workspace").first()
    if row is None:
        raise WebhookNotFoundError(
            f"The webhook has no such delivery: GET /webhooks/{endpoint.pk}/deliveries lists them."
        )
    return row
