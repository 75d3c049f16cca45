"""Tools over the orders: `orders_list`, `orders_get` and `orders_update`."""

from __future__ import annotations

from django.db.models import QuerySet

from heartbit_site.base.toolspec import ToolContext
from shop.models import Order
from tools.orm_tools import orm_tool


@orm_tool(
    Order,
    fields=("number", "status", "note"),
    change=("status", "note"),
    actions=("list", "get", "update"),
    anyone=True,  # a trigger's run has no person whose permissions would count
)
def orders(context: ToolContext) -> QuerySet[Order]:
    """Orders that are paid, or on their way."""
    return Order.objects.filter(status__in=("paid", "sent"))
