"""Outcomes of attempts to send a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models.functions import Now

from agents.choices import DeliveryStatus
from agents.delivery.webhooks import RETRY_AFTER

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
    gives_up = is_final or row.attempts > len(RETRY_AFTER)
    if not error:
        columns |= {"status": DeliveryStatus.DELIVERED, "delivered_at": Now()}
    elif gives_up:
        columns["status"] = DeliveryStatus.FAILED
    else:
        columns["next_at"] = Now() + RETRY_AFTER[row.attempts - 1]
    return bool(row.claimed().update(**columns)) and not error
