"""Found by Heartbit, as the ``agent_tools`` of any Django app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tools.shop.models import Order, Shop
from tools.orm_tools import orm_tool

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from heartbit_site.base.toolspec import ToolContext


@orm_tool(
    Order,
    fields=("number", "status", "note", "shop", "cents", "total", "due", "packed_at", "extra"),
    change=("number", "status", "note", "shop", "cents", "total", "due", "packed_at", "extra"),
    actions=("list", "get", "create", "update"),
    new=lambda context: Order(shop=Shop.objects.filter(members=context.user_id).first()),
)
def orders(context: ToolContext) -> QuerySet[Order]:
    """Orders of the person's shop."""
    return Order.objects.filter(shop__members=context.user_id)
