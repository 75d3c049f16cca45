"""Webhook events, signatures and retry schedule."""

from __future__ import annotations

import base64
import json
import secrets as random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from heartbit_site.base.ids import new_id
from heartbit_site.base.webhook_signature import signature_headers

if TYPE_CHECKING:
    from agents.models import WebhookDelivery, WebhookEndpoint

#: Events that an endpoint can subscribe to, and their meaning.
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

#: Pauses after failed attempts; after the last one the message is given up.
RETRY_AFTER = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=8),
    timedelta(hours=24),
)
#: Time during which the former secret signs as well.
OVERLAP = timedelta(hours=24)

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new secret in the form of Standard Webhooks."""
    return _PREFIX + base64.b64encode(random.token_bytes(_SECRET_BYTES)).decode()


def new_message_id() -> str:
    """Return a new id of a message; receivers see it."""
    return f"msg_{new_id().hex}"


def message(event: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a message."""
    return {"type": event, "timestamp": at.astimezone(UTC).isoformat(), "data": dict(data)}


def body_of(delivery: WebhookDelivery) -> bytes:
    """Return a delivery's body; the same bytes at each attempt."""
    return json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(endpoint: WebhookEndpoint, message_id: str, body: bytes) -> dict[str, str]:
    """Return the headers that sign and date a body for an endpoint.

    Raises:
        SecretError: The endpoint's secret cannot be decrypted.
    """
    now = datetime.now(UTC)
    return {
        "content-type": "application/json",
        "user-agent": "Heartbit-Webhooks",
        **signature_headers(endpoint.valid_secrets(now), message_id, now, body),
    }
