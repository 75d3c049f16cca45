"""The tools of a bicycle shop that does not exist."""

from __future__ import annotations

from typing import Annotated

from django.db import connection
from pydantic import Field

from heartbit_site.base.toolspec import Effect, tool


@tool(effect=Effect.PURE, timeout_seconds=5)
def find_order(order: Annotated[int, Field(description="The number on the invoice.")]) -> str:
    """Look an order up: who, what, when, and how it was sent."""
    return f"Order {order}: cargo bike Wren, 1,890.00 EUR, sent on 12 November, arrived damaged."


@tool(effect=Effect.PURE, timeout_seconds=5)
def search_handbook(query: Annotated[str, Field(description="A few words.")]) -> str:
    """Search the shop's handbook."""
    return f"Handbook, 4.2 ({query}): damage in transit is repaired free, or refunded in part."


@tool(effect=Effect.AT_MOST_ONCE, timeout_seconds=5)
def refund_order(
    order: Annotated[int, Field(description="The number on the invoice.")],
    amount: Annotated[float, Field(gt=0, description="In euros.")],
    reason: Annotated[str, Field(description="The customer reads it.")],
) -> str:
    """Pay money back to the customer. It cannot be taken back."""
    return f"{amount:.2f} EUR of order {order} were paid back: {reason}"


@tool(effect=Effect.TRANSACTIONAL, timeout_seconds=5)
def reserve_bike(
    bike: Annotated[str, Field(description="The model, as the stock names it.")],
    customer: Annotated[str, Field(description="For whom.")],
) -> str:
    """Keep a bike of the stock for a customer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE shop_stock SET free = free - 1, reserved = reserved + 1 WHERE bike = %s",
            [bike],
        )
        cursor.execute(
            "INSERT INTO shop_reservation (bike, customer) VALUES (%s, %s) RETURNING number",
            [bike, customer],
        )
        [number] = cursor.fetchone()
    return f"Reservation {number}: one {bike} is kept for {customer}."
