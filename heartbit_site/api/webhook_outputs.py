"""What responses about webhooks hold, and rows in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.api.forms import time
from heartbit_site.api.paging import Next  # noqa: TC001  pydantic evaluates the annotations

if TYPE_CHECKING:
    from agents.models import WebhookDelivery, WebhookEndpoint


class WebhookOut(Schema):
    """An address that is told of events, without its secret."""

    webhook: int
    name: str
    url: str
    events: list[str]
    enabled: bool
    disabled_because: str = Field(description="Why Heartbit disabled it; empty: it did not.")
    made_by: str | None = Field(description="Null: a key that a command made.")
    created_at: str
    former_secret_until: str | None = Field(description="Until then both secrets sign.")


class NewWebhookOut(WebhookOut):
    """A webhook whose secret was made just now."""

    secret: str = Field(description="whsec_...; shown only this once.")


class WebhooksOut(Schema):
    """The workspace's webhooks, the newest first."""

    webhooks: list[WebhookOut]
    next: Next


class DeliverySummaryOut(Schema):
    """A message in a list; what is posted is in `.../deliveries/{delivery_id}`."""

    delivery: int
    message: str = Field(description="The header webhook-id, the same at each attempt.")
    event: str
    run: str | None = Field(description="Null: it is about no run: a ping, or a quota.")
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    response_code: int | None = Field(description="Of the last attempt; null: no answer.")
    error: str = Field(description="Why the last attempt failed.")
    next_at: str | None = Field(description="When it is tried next; null: never.")
    created_at: str
    delivered_at: str | None


class DeliveryOut(DeliverySummaryOut):
    """One message, and how far it has got."""

    payload: dict[str, JsonValue] = Field(description="What is posted.")


class DeliveriesOut(Schema):
    """What a webhook was told in the last 30 days, the newest first."""

    deliveries: list[DeliverySummaryOut]
    next: Next


def webhook(row: WebhookEndpoint) -> dict[str, Any]:
    """An endpoint, with whoever made it loaded."""
    return {
        "webhook": row.pk,
        "name": row.name,
        "url": row.url,
        "events": row.events,
        "enabled": row.enabled,
        "disabled_because": row.disabled_because,
        "made_by": row.made_by.get_username() if row.made_by is not None else None,
        "created_at": time(row.created_at),
        "former_secret_until": time(row.former_until),
    }


def delivery(row: WebhookDelivery) -> dict[str, Any]:
    """Serialize a message with what is posted."""
    return {**delivery_summary(row), "payload": row.payload}


def delivery_summary(row: WebhookDelivery) -> dict[str, Any]:
    """Serialize a message of a list."""
    return {
        "delivery": row.pk,
        "message": row.message_id,
        "event": row.event,
        "run": str(row.run_id) if row.run_id else None,
        "status": str(row.status),
        "attempts": row.attempts,
        "response_code": row.response_code,
        "error": row.error,
        "next_at": time(row.next_at) if row.status == "pending" else None,
        "created_at": time(row.created_at),
        "delivered_at": time(row.delivered_at),
    }
