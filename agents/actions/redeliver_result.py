"""Send a run's result once more."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from agents.actions.redeliver_webhook import redeliver_webhook
from agents.choices import DeliveryKind, DeliveryStatus
from agents.errors import DeliveryStateError
from agents.models import Delivery, WebhookDelivery
from heartbit_site.base.audit import Actor, record


@transaction.atomic
def redeliver_result(delivery: Delivery, *, by: Actor) -> None:
    """Let a result that arrived, or was given up, go out at the next look, under its own id.

    A mail that arrived goes to all its addresses again; one that was given up, to those alone that
    the server has not taken it for.

    Args:
        delivery: With its workspace; it is brought up to date.
        by: Who does it, for the audit.

    Raises:
        DeliveryStateError: It is on its way already, or its webhook is disabled.
    """
    again = _anew(delivery)
    done = Delivery.objects.filter(pk=delivery.pk).exclude(status=DeliveryStatus.PENDING)
    if not done.update(**again):
        raise DeliveryStateError("The result is on its way already: look again in a while.")
    delivery.refresh_from_db(fields=list(again))
    _send_message_again(delivery, by=by)
    record(
        by,
        "delivery.send_again",
        workspace=delivery.workspace,
        target=f"delivery:{delivery.pk}",
        label=str(delivery),
        details={"run": str(delivery.run_id), "kind": delivery.kind},
    )


def _anew(delivery: Delivery) -> dict[str, Any]:
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
        "next_at": Now(),
    }


def _send_message_again(delivery: Delivery, *, by: Actor) -> None:
    """A webhook gets the same message; a new one when its log is gone."""
    if delivery.kind != DeliveryKind.WEBHOOK or not delivery.message_id:
        return
    messages = WebhookDelivery.objects.select_related("endpoint__workspace")
    message = messages.filter(message_id=delivery.message_id).first()
    if message is not None:
        redeliver_webhook(message, by=by)
        return
    delivery.message_id = ""
    delivery.save(update_fields=["message_id"])
