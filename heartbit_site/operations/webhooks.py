"""Deliveries of results, and webhooks: subscriptions to events, with their deliveries."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field

from agents.actions.redeliver import ping_webhook as ping
from agents.actions.redeliver import redeliver_result as deliver_again
from agents.actions.redeliver import redeliver_webhook as redeliver
from agents.actions.webhooks import remove_webhook as remove
from agents.actions.webhooks import rotate_secret as rotate
from agents.actions.webhooks import save_webhook
from agents.delivery.targets import describe_target, with_webhook_names
from agents.errors import DeliveryNotFoundError, RunNotFoundError, WebhookNotFoundError
from agents.models import Delivery, WebhookDelivery, WebhookEndpoint
from agents.querysets import id_range, of_readable_run
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.webhooks import (
    DeliveriesOut,
    DeliveryOut,
    NewWebhookOut,
    ResultDeliveriesOut,
    ResultDeliveryOut,
    Status,
    WebhookChangeIn,
    WebhookIn,
    WebhookOut,
    WebhooksOut,
)
from heartbit_site.operations.paging import find_row, list_page, row_id

OfRun = Annotated[
    Word | None, Field(description="A run's id, or the beginning of it (at least 8 characters).")
]


def list_deliveries(
    access: Access,
    *,
    cursor: Cursor = None,
    limit: Limit = USUAL,
    run: OfRun = None,
    status: Status | None = None,
) -> ResultDeliveriesOut:
    """Return deliveries of results, newest first; those of archived runs are kept for 30 days."""
    rows = with_webhook_names(_deliveries(access))
    if run is not None:
        rows = rows.filter(run_id__range=_span(run))
    if status is not None:
        rows = rows.filter(status=status)
    return list_page(ResultDeliveriesOut, rows, "-pk", cursor, limit, _view)


def redeliver_result(access: Access, delivery: Word) -> ResultDeliveryOut:
    """Deliver a result again under its id; 409 while it is pending, or its webhook is disabled.

    A mail that only some addresses received is sent to the others; one that all received is sent to
    all.
    """
    rows = with_webhook_names(_deliveries(access).filter(pk=row_id(delivery)))
    missing = DeliveryNotFoundError(
        "The workspace has no such delivery.", remedy=Remedy("deliveries.list_deliveries")
    )
    row = find_row(rows.select_related("workspace"), missing)
    deliver_again(row, by=actor_of(access))
    return _view(row)


def _deliveries(access: Access) -> QuerySet[Delivery]:
    return Delivery.objects.filter(of_readable_run(access.user_id), workspace=access.workspace)


def _view(row: Any) -> ResultDeliveryOut:
    return ResultDeliveryOut.of(row, recipient=describe_target(row.target, row.webhook_name))


def _span(run: str) -> tuple[UUID, UUID]:
    span = id_range(run)
    if span is None:
        raise RunNotFoundError(
            "No run id begins like this: give at least 8 hexadecimal digits.",
            remedy=Remedy("runs.list_runs", "shows them"),
        )
    return span


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
