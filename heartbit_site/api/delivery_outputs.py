"""What responses about the deliveries of results hold, and rows in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.api.forms import time
from heartbit_site.contract.model import Next  # noqa: TC001

if TYPE_CHECKING:
    from agents.models import Delivery


class ResultDeliveryOut(Schema):
    """A result on its way to somebody, and how far it has got."""

    delivery: int
    run: str = Field(description="It may be archived by now.")
    kind: Literal["email", "webhook", "artifact"]
    target: dict[str, JsonValue] = Field(description="As it was ordered.")
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    addresses: dict[str, str] = Field(
        description="Of a mail, those that are done with: empty, the mail server took it; else why "
        "it never will."
    )
    message: str = Field(
        description="A mail's Message-ID, or the webhook-id; the same at each attempt."
    )
    error: str = Field(description="Why it has not arrived.")
    next_at: str | None = Field(
        description="When it is tried next, once the run has ended; null: never."
    )
    created_at: str
    delivered_at: str | None


class ResultDeliveriesOut(Schema):
    """The workspace's deliveries, the newest first."""

    deliveries: list[ResultDeliveryOut]
    next: Next


def result_delivery(row: Delivery) -> dict[str, Any]:
    """A delivery."""
    return {
        "delivery": row.pk,
        "run": str(row.run_id),
        "kind": row.kind,
        "target": row.target,
        "status": str(row.status),
        "attempts": row.attempts,
        "addresses": row.settled,
        "message": row.message_id,
        "error": row.error,
        "next_at": time(row.next_at) if row.status == "pending" else None,
        "created_at": time(row.created_at),
        "delivered_at": time(row.delivered_at),
    }
