"""Send a run's result, or a webhook's message, again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.choices import DeliveryKind, DeliveryStatus
from agents.delivery.sending import PING, message, new_message_id
from agents.errors import DeliveryStateError
from agents.models import Delivery, WebhookDelivery, WebhookEndpoint
from agents.runtime.rights.decision_rights import DECIDE
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ForbiddenError
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


@transaction.atomic
def redeliver_result(delivery: Delivery, *, by: Actor) -> None:
    """Send a delivered or failed result again, under its old message id; update ``delivery``.

    A mail that arrived goes to all its addresses again; a failed one only to the addresses for
    which the server has not accepted it.

    This also sends an answer that waits for a person because its run has read mixed data; the
    author then needs the right to decide calls.

    Raises:
        ForbiddenError: The answer waits for a person who may decide calls.
        DeliveryStateError: The delivery is still pending, or its webhook is disabled.
    """
    require(by, "runs:write", workspace_id=delivery.workspace_id)
    leaves = bool(delivery.target.get("external")) and not delivery.released
    if leaves and by.access is not None and not by.access.allows(DECIDE):
        raise ForbiddenError(
            "To let a result leave for people outside takes the right to decide calls.", DECIDE
        )
    again = _pending_again(delivery)
    done = Delivery.objects.filter(pk=delivery.pk).exclude(status=DeliveryStatus.PENDING)
    if not done.update(**again):
        raise DeliveryStateError("The result is on its way already: look again in a while.")
    delivery.refresh_from_db(fields=list(again))
    _send_message_again(delivery, by=by)
    details = {"run": str(delivery.run_id), "kind": delivery.kind}
    record_on(by, "delivery.send_again", delivery, details=details)


def _pending_again(delivery: Delivery) -> dict[str, Any]:
    arrived = delivery.status == DeliveryStatus.DELIVERED
    reached = (
        {}
        if arrived
        else {to: "" for to, refused in delivery.recipient_results.items() if not refused}
    )
    return {
        "status": DeliveryStatus.PENDING,
        "attempts": 0,
        "error": "",
        "recipient_results": reached,
        "delivered_at": None,
        "released": True,  # the sender has been shown why it was held
        "next_at": Now(),
    }


def _send_message_again(delivery: Delivery, *, by: Actor) -> None:
    """Send a webhook the same message, or a new one if its log was pruned."""
    if delivery.kind != DeliveryKind.WEBHOOK or not delivery.message_id:
        return
    messages = WebhookDelivery.objects.select_related("endpoint__workspace")
    message = messages.filter(message_id=delivery.message_id).first()
    if message is not None:
        redeliver_webhook(message, by=by)
        return
    delivery.message_id = ""
    delivery.save(update_fields=["message_id"])
