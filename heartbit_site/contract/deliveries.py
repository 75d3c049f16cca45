"""Deliveries of results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun

Status = Literal["pending", "delivered", "failed"]


class AttemptedOut(View):
    """A message to another program or person, with its attempts."""

    id: int = Field(validation_alias="pk")
    message_id: str = Field(
        description="The header webhook-id, or a mail's Message-ID; the same for every attempt."
    )
    status: Status
    attempts: int
    error: str = Field(description="Error of the last attempt.")
    next_at: Time | None = Field(
        validation_alias="due_at",
        description="Time of the next attempt, once the run has ended; null: never.",
    )
    created_at: Time
    delivered_at: Time | None


class ResultDeliveryOut(AttemptedOut):
    """The delivery of a result to its recipients."""

    run_id: Id = Field(description="Run of the result; it may have been archived since.")
    kind: Literal["email", "webhook", "artifact"]
    target: dict[str, JsonValue] = Field(description="The requested target.")
    recipient: str = Field(description="The target as text, such as `ann@example.org`.")
    addresses: dict[str, str] = Field(
        validation_alias="recipient_results",
        description="Final result per address of a mail: empty if the mail server accepted it, "
        "else the reason for its refusal.",
    )


class ResultDeliveriesOut(Page):
    """The workspace's deliveries, the newest first."""

    deliveries: list[ResultDeliveryOut]


NOUN = Noun("deliveries", read=READ_RUNS, write=WRITE_RUNS)

LIST_DELIVERIES = NOUN.get(
    "list_deliveries", "/deliveries", ResultDeliveriesOut, command="`heartbit deliveries`"
)
REDELIVER_RESULT = NOUN.post(
    "redeliver_result", "/deliveries/{delivery}/redeliver", ResultDeliveryOut, errors=(409,)
)
