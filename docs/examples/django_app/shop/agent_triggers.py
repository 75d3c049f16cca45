"""A run for each order that is paid, in the transaction of its row."""

from __future__ import annotations

from agents.definitions.triggers import Change, on_change
from shop.models import Order


def is_paid(change: Change) -> bool:
    """Return True if this change paid the order."""
    return change.became("status", "paid")


@on_change(Order, agent="packer", fields=("number", "status"), when=is_paid)
def pack(change: Change) -> str:
    """Return the task of the run."""
    order = Order.objects.get(pk=change.pk)
    return f"Order {order} (id {order.pk}) is paid. The customer says: {order.note}"
