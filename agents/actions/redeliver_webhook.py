"""Redeliver a webhook's message, or send a test message."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.choices import DeliveryStatus
from agents.delivery.webhooks import PING, message, new_message_id
from agents.errors import DeliveryStateError
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require


@transaction.atomic
def redeliver_webhook(delivery: WebhookDelivery, *, by: Actor) -> None:
    """Send a delivered or failed message again, under its old message id; update ``delivery``.

    Raises:
        DeliveryStateError: The message is still pending, or its endpoint is disabled.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=delivery.endpoint.workspace_id)
    _check(delivery.endpoint)
    done = WebhookDelivery.objects.filter(pk=delivery.pk).exclude(status=DeliveryStatus.PENDING)
    again = {"status": DeliveryStatus.PENDING, "attempts": 0, "delivered_at": None}
    if not done.update(**again, next_at=Now()):
        raise DeliveryStateError("The message is on its way already: look again in a while.")
    delivery.refresh_from_db(fields=[*again, "next_at"])
    _record(delivery, "webhook.send_again", by)


@transaction.atomic
def ping_webhook(endpoint: WebhookEndpoint, *, by: Actor) -> WebhookDelivery:
    """Send a test message.

    Raises:
        DeliveryStateError: The endpoint is disabled.
    """
    require(by, "workspace:manage", workspace_id=endpoint.workspace_id)
    _check(endpoint)
    message_id = new_message_id()
    made = WebhookDelivery.objects.create(
        endpoint=endpoint,
        event=PING,
        event_key=message_id,
        message_id=message_id,
        payload=message(PING, timezone.now(), {"webhook": endpoint.pk, "name": endpoint.name}),
    )
    _record(made, "webhook.ping", by)
    return made


def _check(endpoint: WebhookEndpoint) -> None:
    if not endpoint.enabled:
        raise DeliveryStateError(f"The webhook {endpoint.name} is disabled: enable it first.")


def _record(delivery: WebhookDelivery, action: str, by: Actor) -> None:
    details = {"message": delivery.message_id, "event": delivery.event}
    record_on(by, action, delivery.endpoint, details=details)
