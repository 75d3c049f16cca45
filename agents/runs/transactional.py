"""A tool and its result in one database transaction: exactly once, for effects in this database.

The tool's body runs on a Django connection in a thread; after it, on the same connection, the
journal locks the run's row. If the lease was lost meanwhile, or renewed because the tool took too
long, the journal's write fails, which rolls back the tool's writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction

from agents.journal.events import CancelRequested, Event, encode
from heartbit_site.base.query import fetch_one


class CancelledMeanwhileError(Exception):
    """The run was cancelled before the transaction could commit."""


def in_one_transaction(
    run_id: UUID, token: int, folded: int, body: Callable[[], Event]
) -> tuple[Event, dict[str, Any]]:
    """Run ``body`` and journal the event it returns; return both it and the journal's answer.

    Raises:
        CancelledMeanwhileError: The run was cancelled; ``body`` is rolled back.
        django.db.Error: The lease is lost (SQLSTATE HB001) or the database is unavailable; ``body``
            is rolled back.
    """
    with transaction.atomic():
        event = body()
        last_seq, now, tail = fetch_one(
            "SELECT last_seq, now, tail::text FROM heartbit_record(%s, %s, %s, %s)",
            [run_id, token, folded, json.dumps([encode(event)], ensure_ascii=False)],
        )
        missed = json.loads(tail)
        if any(row["type"] == CancelRequested.type for row in missed):
            raise CancelledMeanwhileError  # rolls back: a cancel forbids any effect
    return event, {"last_seq": last_seq, "now": now, "tail": missed}
