"""Sending of results and webhook messages: due deliveries, events, signatures and attempts.

Usage::

    for candidate in due(MAIL, limit=64):
        delivery = claim(candidate, lease_seconds=300)  # None: claimed by another process
"""

from __future__ import annotations

import base64
import json
import secrets as random
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from agents.choices import DeliveryKind, DeliveryStatus
from agents.models import Delivery, Run, WebhookDelivery, WebhookEndpoint
from agents.models.attempted import Attempted
from agents.reads.outcome import result_of
from agents.runs.webhook_events import MOST_CHARACTERS
from heartbit_site.base.ids import new_id
from heartbit_site.base.query import fetch_all, fetch_one
from heartbit_site.base.webhook_signature import signature_headers

PING = "ping"

#: Pauses after failed attempts; after the last one, the message is given up.
RETRY_AFTER = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=8),
    timedelta(hours=24),
)
#: Time during which the previous secret also signs.
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


#: Not an event to subscribe to: it is sent to the endpoint that a target names.
RUN_DELIVERED = "run.delivered"


def data_of(run: Run) -> dict[str, Any]:
    """Return the fields of an ended run; the names are those of ``GET /runs/{id}`` and its result.

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
        "reviewed_by": result_of(run).reviewed_by,
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
    }


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at is not None else None


_MOST_SAID = 500


def store_attempt(row: Attempted, error: str, *, is_final: bool, **noted: Any) -> bool:
    """Store the outcome of an attempt, unless another process has claimed the row in the meantime.

    Args:
        row: The message as it was claimed.
        error: Why it did not arrive; empty if it arrived.
        is_final: True if retrying is useless.
        noted: Further columns.

    Returns:
        True if the message arrived.
    """
    columns = {"error": error[:_MOST_SAID], **noted}
    gives_up = is_final or row.attempts > len(RETRY_AFTER)
    if not error:
        columns |= {"status": DeliveryStatus.DELIVERED, "delivered_at": Now()}
    elif gives_up:
        columns["status"] = DeliveryStatus.FAILED
    else:
        columns["next_at"] = Now() + RETRY_AFTER[row.attempts - 1]
    return bool(row.claimed().update(**columns)) and not error


MAIL = (DeliveryKind.EMAIL,)
#: Kinds that take only a statement or two, or the write of a file.
WITHIN = (DeliveryKind.WEBHOOK, DeliveryKind.ARTIFACT, DeliveryKind.DRIVE)

# Pending, due, and not handed to a webhook yet.
_OPEN = """
    d.status = 'pending' AND d.next_at <= statement_timestamp()
    AND NOT (d.kind = 'webhook' AND d.message_id <> '')
"""
# A delivery whose run was deleted is also due, to be given up.
_DUE = f"""
SELECT d.id FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
WHERE {_OPEN} AND d.kind = ANY (%s) AND (r.id IS NULL OR r.finished_at IS NOT NULL)
ORDER BY d.next_at, d.id LIMIT %s
"""  # noqa: S608  constants
# The attempt is counted at the claim, so a mail that crashes its sender is eventually given up.
_CLAIM = f"""
UPDATE agents_delivery SET attempts = attempts + 1,
       next_at = clock_timestamp() + make_interval(secs => %s)
WHERE id = (SELECT d.id FROM agents_delivery d WHERE d.id = %s AND {_OPEN} FOR UPDATE SKIP LOCKED)
RETURNING id
"""  # noqa: S608
# The webhook's own deliveries do the retries; their state is only copied here.
_FOLLOW = """
UPDATE agents_delivery d
SET status = seen.status, attempts = seen.attempts, error = seen.error, next_at = seen.next_at,
    delivered_at = seen.delivered_at
FROM (
    SELECT p.id, coalesce(w.status, 'failed') AS status,
           coalesce(w.attempts, p.attempts) AS attempts,
           CASE WHEN w.id IS NULL THEN 'The webhook was removed before the delivery.'
                ELSE w.error END AS error,
           coalesce(w.next_at, p.next_at) AS next_at, w.delivered_at
    FROM agents_delivery p LEFT JOIN agents_webhookdelivery w ON w.message_id = p.message_id
    WHERE p.status = 'pending' AND p.kind = 'webhook' AND p.message_id <> ''
) seen
WHERE d.id = seen.id AND d.status = 'pending'
  AND (d.status, d.attempts, d.error, d.next_at)
      IS DISTINCT FROM (seen.status, seen.attempts, seen.error, seen.next_at)
RETURNING d.status
"""


def due(kinds: Collection[DeliveryKind], *, limit: int) -> list[int]:
    """Return the ids of due deliveries of these kinds, longest due first."""
    return [row[0] for row in fetch_all(_DUE, [[kind.value for kind in kinds], limit])]


def claim(delivery_id: int, *, lease_seconds: float) -> Delivery | None:
    """Claim a delivery: no other process sends it before the lease expires.

    Returns:
        The delivery, with its workspace; None if it is not due, or claimed by another process.
    """
    if fetch_one(_CLAIM, [lease_seconds, delivery_id]) is None:
        return None
    return Delivery.objects.select_related("workspace").get(pk=delivery_id)


def sync_webhook_deliveries() -> int:
    """Copy the state of webhook messages to their deliveries; return how many have arrived."""
    return sum(status == DeliveryStatus.DELIVERED for (status,) in fetch_all(_FOLLOW))
