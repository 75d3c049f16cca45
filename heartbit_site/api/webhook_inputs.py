"""What requests about webhooks hold."""

from __future__ import annotations

from typing import Annotated, Literal

from django.core.exceptions import ValidationError
from pydantic import AfterValidator, Field

from agents.models.webhook import check_webhook_url
from heartbit_site.api.fields import Word
from heartbit_site.api.inputs import Body

#: As ``agents.webhooks.EVENTS`` has them.
EventName = Literal[
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "run.quarantined",
    "approval.requested",
    "quota.warning",
    "quota.reached",
]


def _titled(name: str) -> str:
    if not name.strip():
        raise ValueError("say what it is for")
    return name.strip()


def _address(url: str) -> str:
    try:
        check_webhook_url(url)
    except ValidationError as error:
        raise ValueError(error.messages[0]) from None
    return url


WebhookName = Annotated[Word, Field(min_length=1, max_length=100), AfterValidator(_titled)]
Address = Annotated[
    str,
    Field(max_length=500, description="http or https; private hosts only if the operator lets."),
    AfterValidator(_address),
]
Events = Annotated[list[EventName], Field(min_length=1, max_length=20)]


class WebhookIn(Body):
    """An address that is to be told of events."""

    name: WebhookName = Field(description="What it is for, such as ticket system.")
    url: Address
    events: Events
    enabled: bool = True


class WebhookChangeIn(Body):
    """What is to be different; what is left out stays."""

    name: WebhookName | None = None
    url: Address | None = None
    events: Events | None = None
    enabled: bool | None = None
