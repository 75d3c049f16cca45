"""A tool and its result in one database transaction: exactly once, for effects in this database.

The tool's body runs on a Django connection in a thread; the journal takes the run's row lock after
it, on the same connection. A lease that was lost meanwhile, or was renewed because the tool took
too long, refuses the journal's write and so undoes the tool's.
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
            raise CancelledMeanwhileError  # and so undo it: nothing takes effect after a cancel
    return event, {"last_seq": last_seq, "now": now, "tail": missed}
