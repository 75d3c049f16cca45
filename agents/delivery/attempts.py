"""Outcomes of attempts to send a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models.functions import Now

from agents.choices import DeliveryStatus
from agents.delivery.webhooks import retry_after

if TYPE_CHECKING:
    from agents.models.attempted import Attempted

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
    wait = None if is_final else retry_after(row.attempts)
    if not error:
        columns |= {"status": DeliveryStatus.DELIVERED, "delivered_at": Now()}
    elif wait is None:
        columns["status"] = DeliveryStatus.FAILED
    else:
        columns["next_at"] = Now() + wait
    return bool(row.claimed().update(**columns)) and not error
