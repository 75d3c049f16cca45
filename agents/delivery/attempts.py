"""Due deliveries and the outcomes of attempts to send them.

Usage::

    for candidate in due(MAIL, limit=64):
        delivery = claim(candidate, lease_seconds=300)  # None: claimed by another process
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models.functions import Now

from agents.choices import DeliveryKind, DeliveryStatus
from agents.delivery.webhooks import RETRY_AFTER
from agents.models import Delivery
from agents.models.attempted import Attempted
from heartbit_site.base.query import fetch_all, fetch_one

_MOST_SAID = 500


def store_attempt(row: Attempted, error: str, *, is_final: bool, **noted: Any) -> bool:
    """Store the outcome of an attempt, unless another process has claimed the row meanwhile.

    Args:
        row: The message as it was claimed.
        error: Why it did not arrive; empty: it arrived.
        is_final: True if retrying is of no use.
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
#: Kinds that take no longer than a statement or two.
WITHIN = (DeliveryKind.WEBHOOK, DeliveryKind.ARTIFACT)

# Pending, due, and not handed to a webhook yet.
_OPEN = """
    d.status = 'pending' AND d.next_at <= statement_timestamp()
    AND NOT (d.kind = 'webhook' AND d.message_id <> '')
"""
# A delivery whose run is gone is due as well, to be given up.
_DUE = f"""
SELECT d.id FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
WHERE {_OPEN} AND d.kind = ANY (%s) AND (r.id IS NULL OR r.finished_at IS NOT NULL)
ORDER BY d.next_at, d.id LIMIT %s
"""  # noqa: S608  constants
# The attempt is counted at the claim: a mail that crashes its sender is given up in the end.
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
