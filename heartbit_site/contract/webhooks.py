"""Deliveries of results, and webhooks: subscriptions to events, with their deliveries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AliasPath, Field, JsonValue

from agents.system_events.types import MOST_PATTERNS
from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.events import Pattern
from heartbit_site.contract.model import Body, Page, Word, changes
from heartbit_site.contract.operation import MANAGE, READ_RUNS, WRITE_RUNS, Noun

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
    kind: Literal["email", "webhook", "artifact", "drive"]
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


RESULTS = Noun("deliveries", module="webhooks", read=READ_RUNS, write=WRITE_RUNS)

LIST_DELIVERIES = RESULTS.get(
    "list_deliveries", "/deliveries", ResultDeliveriesOut, command="`heartbit deliveries`"
)
REDELIVER_RESULT = RESULTS.post(
    "redeliver_result", "/deliveries/{delivery}/redeliver", ResultDeliveryOut, errors=(409,)
)


SECRET = Field(description="Secret, whsec_...; returned only once.")


def _titled(name: str) -> str:
    if not name.strip():
        raise ValueError("name its purpose")
    return name.strip()


WebhookName = Annotated[Word, Field(min_length=1, max_length=100), AfterValidator(_titled)]
Address = Annotated[
    str,
    Field(
        max_length=500,
        description="URL, http or https; private hosts only if an operator allows them.",
    ),
]
Events = Annotated[
    list[Pattern],
    Field(
        max_length=MOST_PATTERNS,
        description="Types of events to send, or patterns such as `run.*`; empty: only results "
        "that are delivered to it.",
    ),
]


class EndpointOut(View):
    """An endpoint for signed messages, without its secret."""

    id: int = Field(validation_alias="pk")
    name: str
    url: str
    enabled: bool
    created_by: str | None = Field(
        None,
        validation_alias=AliasPath("created_by", "username"),
        description="Null for a key that a command created.",
    )
    created_at: Time
    previous_secret_expires_at: Time | None = Field(
        description="Time until which the previous secret is valid as well."
    )


class WebhookOut(EndpointOut):
    """A webhook, without its secret."""

    events: list[str]
    disabled_reason: str = Field(
        description="Reason why Heartbit disabled it; empty if it did not.",
    )


class NewWebhookOut(WebhookOut):
    """A webhook with its new secret."""

    secret: str = SECRET


class WebhooksOut(Page):
    """The workspace's webhooks, the newest first."""

    webhooks: list[WebhookOut]


class DeliverySummaryOut(AttemptedOut):
    """A message in a list; `.../deliveries/{delivery_id}` returns its body."""

    event: str
    run_id: Id | None = Field(description="Run of the event; null for a ping or a quota.")
    response_code: int | None = Field(
        description="Status of the last response; null if there was none."
    )


class DeliveryOut(DeliverySummaryOut):
    """A message and its delivery status."""

    payload: dict[str, JsonValue] = Field(description="Body of the message.")


class DeliveriesOut(Page):
    """Deliveries of a webhook in the last 30 days, the newest first."""

    deliveries: list[DeliverySummaryOut]


class WebhookIn(Body):
    """A webhook to create."""

    name: WebhookName = Field(description="Purpose of the webhook, such as ticket system.")
    url: Address
    events: Events = Field(default_factory=list)
    enabled: bool = Field(default=True, description="Events are sent to it.")


@changes()
class WebhookChangeIn(WebhookIn):
    """Settings to change; a setting that is left out stays."""


NOUN = Noun("webhooks", read=MANAGE, write=MANAGE)

LIST_WEBHOOKS = NOUN.get(
    "list_webhooks", "/webhooks", WebhooksOut, command="`heartbit webhooks list`"
)
CREATE_WEBHOOK = NOUN.post(
    "create_webhook", "/webhooks", NewWebhookOut, body=WebhookIn, status=201, errors=(409,)
)
CHANGE_WEBHOOK = NOUN.patch(
    "change_webhook", "/webhooks/{webhook_id}", WebhookOut, body=WebhookChangeIn
)
REMOVE_WEBHOOK = NOUN.delete("remove_webhook", "/webhooks/{webhook_id}")
ROTATE_WEBHOOK_SECRET = NOUN.post(
    "rotate_webhook_secret", "/webhooks/{webhook_id}/rotate-secret", NewWebhookOut,
    "Rotate a webhook's secret",
)  # fmt: skip
PING_WEBHOOK = NOUN.post(
    "ping_webhook", "/webhooks/{webhook_id}/ping", DeliveryOut, "Send a test event", status=201,
    errors=(409,),
)  # fmt: skip
LIST_WEBHOOK_DELIVERIES = NOUN.get(
    "list_webhook_deliveries", "/webhooks/{webhook_id}/deliveries", DeliveriesOut,
    "List a webhook's deliveries",
)  # fmt: skip
SHOW_WEBHOOK_DELIVERY = NOUN.get(
    "show_webhook_delivery", "/webhooks/{webhook_id}/deliveries/{delivery_id}", DeliveryOut,
    "Get a delivery",
)  # fmt: skip
REDELIVER_WEBHOOK = NOUN.post(
    "redeliver_webhook", "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", DeliveryOut,
    "Redeliver a webhook message", errors=(409,),
)  # fmt: skip
