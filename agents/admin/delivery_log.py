"""Columns and action that the two logs of deliveries share: results and webhook messages."""

from __future__ import annotations

from typing import TypeVar

from agents.admin import formatting
from agents.choices import DeliveryStatus
from agents.models import Delivery, WebhookDelivery
from heartbit_site.base.admin.columns import Column, clock, format_datetime
from heartbit_site.base.admin.themed import ReadOnlyAdmin

D = TypeVar("D", Delivery, WebhookDelivery)


class DeliveryLog(ReadOnlyAdmin[D]):
    """Deliveries with their state; one that is not pending can be sent again."""

    sortable_by = ()
    actions_detail = ("again",)

    state = Column[D]("state", lambda row: formatting.delivery_pill(row.status))
    created = Column[D]("created", lambda row: clock(row.created_at))

    def next_attempt(self, delivery: D) -> str:
        """Return the time of the next attempt, if there is one."""
        pending = delivery.status == DeliveryStatus.PENDING
        return format_datetime(delivery.next_at) if pending else "-"


def is_over(delivery: Delivery | WebhookDelivery) -> bool:
    """Return True unless the delivery is pending: then it cannot be sent again."""
    return delivery.status != DeliveryStatus.PENDING
