"""Webhooks: subscriptions of other programs to events, and their deliveries."""

from __future__ import annotations

from agents.actions.redeliver import ping_webhook as ping
from agents.actions.redeliver import redeliver_webhook as redeliver
from agents.actions.webhooks import remove_webhook as remove
from agents.actions.webhooks import rotate_secret as rotate
from agents.actions.webhooks import save_webhook
from agents.errors import WebhookNotFoundError
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.webhooks import (
    DeliveriesOut,
    DeliveryOut,
    NewWebhookOut,
    WebhookChangeIn,
    WebhookIn,
    WebhookOut,
    WebhooksOut,
)
from heartbit_site.operations.paging import find_row, list_page, row_id


def list_webhooks(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> WebhooksOut:
    """Return the workspace's webhooks, the newest first, without their secrets."""
    rows = WebhookEndpoint.objects.filter(workspace=access.workspace).select_related("created_by")
    return list_page(WebhooksOut, rows, "-pk", cursor, limit)


def create_webhook(access: Access, body: WebhookIn) -> NewWebhookOut:
    """Create a webhook for events from now on. Its secret is only in this response."""
    row = WebhookEndpoint(
        workspace=access.workspace, created_by_id=access.user_id, **body.model_dump()
    )
    return NewWebhookOut.of(row, secret=save_webhook(row, by=actor_of(access)))


def change_webhook(access: Access, webhook_id: Word, body: WebhookChangeIn) -> WebhookOut:
    """Change the given settings. Events that happen while it is disabled are never sent."""
    row = _find(access.workspace, webhook_id)
    for name, value in body.model_dump(exclude_none=True).items():
        setattr(row, name, value)
    save_webhook(row, by=actor_of(access))
    return WebhookOut.of(row)


def remove_webhook(access: Access, webhook_id: Word) -> None:
    """Delete a webhook and its log of deliveries."""
    remove(_find(access.workspace, webhook_id), by=actor_of(access))


def rotate_webhook_secret(access: Access, webhook_id: Word) -> NewWebhookOut:
    """Replace the secret, returned only here; the previous one signs as well for 24 hours."""
    row = _find(access.workspace, webhook_id)
    return NewWebhookOut.of(row, secret=rotate(row, by=actor_of(access)))


def ping_webhook(access: Access, webhook_id: Word) -> DeliveryOut:
    """Send a message of type `ping`; the webhook's deliveries show the outcome within seconds."""
    row = _find(access.workspace, webhook_id)
    return DeliveryOut.of(ping(row, by=actor_of(access)))


def list_webhook_deliveries(
    access: Access, webhook_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> DeliveriesOut:
    """Return the webhook's deliveries, the newest first, without payloads.

    `GET /webhooks/{webhook_id}/deliveries/{delivery_id}` returns the payload.
    """
    rows = WebhookDelivery.objects.filter(endpoint=_find(access.workspace, webhook_id))
    return list_page(DeliveriesOut, rows.defer("payload"), "-pk", cursor, limit)


def show_webhook_delivery(access: Access, webhook_id: Word, delivery_id: Word) -> DeliveryOut:
    """Return one message with its payload."""
    return DeliveryOut.of(_find_delivery(_find(access.workspace, webhook_id), delivery_id))


def redeliver_webhook(access: Access, webhook_id: Word, delivery_id: Word) -> DeliveryOut:
    """Send a message again under its id; 409 while it is pending."""
    row = _find_delivery(_find(access.workspace, webhook_id), delivery_id)
    redeliver(row, by=actor_of(access))
    return DeliveryOut.of(row)


def _find(workspace: Workspace, webhook_id: str) -> WebhookEndpoint:
    rows = WebhookEndpoint.objects.filter(workspace=workspace, pk=row_id(webhook_id))
    missing = WebhookNotFoundError(
        "The workspace has no such webhook.", remedy=Remedy("webhooks.list_webhooks")
    )
    return find_row(rows.select_related("created_by", "workspace"), missing)


def _find_delivery(endpoint: WebhookEndpoint, delivery_id: str) -> WebhookDelivery:
    rows = WebhookDelivery.objects.filter(endpoint=endpoint, pk=row_id(delivery_id))
    missing = WebhookNotFoundError(
        "The webhook has no such delivery.",
        remedy=Remedy("webhooks.list_webhook_deliveries", values={"webhook_id": str(endpoint.pk)}),
    )
    return find_row(rows.select_related("endpoint__workspace"), missing)
