"""Deliveries: results on their way to somebody."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from heartbit_site.contract.model import Id, Next, Time, View
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Operation

Status = Literal["pending", "delivered", "failed"]


class ResultDeliveryOut(View):
    """A result on its way to somebody, and how far it has got."""

    id: int = Field(validation_alias="pk")
    run_id: Id = Field(description="It may be archived by now.")
    kind: Literal["email", "webhook", "artifact"]
    target: dict[str, JsonValue] = Field(description="As it was ordered.")
    recipient: str = Field(description="The target in words, such as `ann@example.org`.")
    status: Status
    attempts: int
    addresses: dict[str, str] = Field(
        validation_alias="recipient_results",
        description="Of a mail, those that are done with: empty, the mail server took it; else why "
        "it never will.",
    )
    message_id: str = Field(
        description="A mail's Message-ID, or the webhook-id; the same at each attempt.",
    )
    error: str = Field(description="Why it has not arrived.")
    next_at: Time | None = Field(
        validation_alias="due_at",
        description="When it is tried next, once the run has ended; null: never.",
    )
    created_at: Time
    delivered_at: Time | None


class ResultDeliveriesOut(View):
    """The workspace's deliveries, the newest first."""

    deliveries: list[ResultDeliveryOut]
    next_cursor: Next


LIST_DELIVERIES = Operation(
    "deliveries.list_deliveries", "GET /deliveries", ResultDeliveriesOut, "List deliveries",
    READ_RUNS, rows="deliveries",
)  # fmt: skip
REDELIVER_RESULT = Operation(
    "deliveries.redeliver_result", "POST /deliveries/{delivery}/redeliver", ResultDeliveryOut,
    "Redeliver a result", WRITE_RUNS, errors=(409,),
)  # fmt: skip
