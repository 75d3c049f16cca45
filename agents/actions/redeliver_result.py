"""Redeliver a run's result."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from agents.actions.redeliver_webhook import redeliver_webhook
from agents.choices import DeliveryKind, DeliveryStatus
from agents.errors import DeliveryStateError
from agents.models import Delivery, WebhookDelivery
from agents.runtime.rights.decision_rights import DECIDE
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.rights import require


@transaction.atomic
def redeliver_result(delivery: Delivery, *, by: Actor) -> None:
    """Send a delivered or failed result again, under its old message id; update ``delivery``.

    A mail that arrived goes to all its addresses again; a failed one only to the addresses for
    which the server has not accepted it.

    An answer that waited for a person, since its run had read mixed data, leaves by this: it takes
    the right to decide calls.

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
