"""What webhooks tell, how it is signed and when it is tried again."""

from __future__ import annotations

import base64
import json
import secrets as random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from standardwebhooks import Webhook

from heartbit_site.base import secrets
from heartbit_site.base.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.models import WebhookDelivery, WebhookEndpoint

#: What an endpoint can be told of, and what it means.
EVENTS = {
    "run.succeeded": "A run ended with an answer.",
    "run.failed": "A run ended with an error.",
    "run.cancelled": "A run was cancelled.",
    "run.quarantined": "A run killed its workers too often.",
    "approval.requested": "A tool call of a run, or of its sub-agents, waits for a person.",
    "quota.warning": "A quota of the workspace, or a budget, is nearly used up.",
    "quota.reached": "A quota of the workspace, or a budget, is used up.",
}
PING = "ping"

#: After each failed attempt; after the last one it is given up.
RETRY_AFTER = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=8),
    timedelta(hours=24),
)
#: How long the former secret signs as well.
OVERLAP = timedelta(hours=24)

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    """A fresh secret, as Standard Webhooks writes them."""
    return _PREFIX + base64.b64encode(random.token_bytes(_SECRET_BYTES)).decode()


def new_message_id() -> str:
    """The id of a message; receivers see it."""
    return f"msg_{new_id().hex}"


def message(event: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is posted."""
    return {"type": event, "timestamp": at.astimezone(UTC).isoformat(), "data": dict(data)}


def body_of(delivery: WebhookDelivery) -> bytes:
    """A delivery's body; the same bytes at each attempt."""
    return json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(endpoint: WebhookEndpoint, message_id: str, body: bytes) -> dict[str, str]:
    """The headers that prove to the endpoint who sends this body, and when.

    Raises:
        SecretError: The endpoint's secret cannot be read.
    """
    now = datetime.now(UTC)
    signatures = [
        str(Webhook(secret).sign(message_id, now, body.decode()))
        for secret in _secrets_of(endpoint, now)
    ]
    return {
        "content-type": "application/json",
        "user-agent": "Heartbit-Webhooks",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def retry_after(attempts: int) -> timedelta | None:
    """How long to wait after so many attempts; None: it is given up."""
    return RETRY_AFTER[attempts - 1] if attempts <= len(RETRY_AFTER) else None


def _secrets_of(endpoint: WebhookEndpoint, now: datetime) -> list[str]:
    columns = ["secret"]
    if (
        endpoint.previous_secret_expires_at is not None
        and endpoint.previous_secret_expires_at > now
    ):
        columns.append("previous_secret")
    return [secret for column in columns if (secret := secrets.reveal(endpoint, column))]
