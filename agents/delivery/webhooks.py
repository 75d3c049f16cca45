"""Webhook events and payloads, signatures and retry schedule."""

from __future__ import annotations

import base64
import json
import secrets as random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.models import Run, WebhookDelivery, WebhookEndpoint
from agents.runs.webhook_events import MOST_CHARACTERS
from heartbit_site.base.ids import new_id
from heartbit_site.base.webhook_signature import signature_headers

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


#: No event to subscribe to: it is sent to the endpoint that a target names.
RUN_DELIVERED = "run.delivered"


def data_of(run: Run) -> dict[str, Any]:
    """Return the fields of an ended run; the names are those of ``GET /runs/{id}``.

    Task and output are cut as in other messages; a structured answer that is too long is left out,
    because a cut one is not valid JSON.
    """
    output = run.output
    long = [len(run.task) > MOST_CHARACTERS, len(output or "") > MOST_CHARACTERS]
    structured = run.structured
    if structured is not None and len(json.dumps(structured, ensure_ascii=False)) > MOST_CHARACTERS:
        structured = None
        long.append(True)
    return {
        "run_id": str(run.pk),
        "conversation_id": str(run.conversation_id) if run.conversation_id else None,
        "kind": run.kind,
        "agent": run.agent,
        "model": run.model,
        "status": run.status,
        "task": run.task[:MOST_CHARACTERS],
        "output": None if output is None else output[:MOST_CHARACTERS],
        "structured": structured,
        "cut": any(long),
        "error": run.error,
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
    }


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at is not None else None
