"""Whole journals of runs, read for people and for forks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agents.errors import RunStateError
from agents.journal.events import RecordedEvent, decode
from agents.models import Run
from agents.querysets import events_after
from heartbit_site.base.query import fetch_one


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The whole journal of a run.

    Attributes:
        journal: Decoded events.
        payloads: Stored payloads by sequence number.
        thread: Earlier runs of the conversation: {task, output, steers} each.
    """

    journal: Sequence[RecordedEvent]
    payloads: Mapping[int, dict[str, Any]]
    thread: Sequence[dict[str, Any]]


def load_history(run: Run) -> RunHistory:
    """Read the journal of a run.

    Raises:
        RunStateError: A newer Heartbit wrote the journal.
    """
    rows = events_after(run.pk, 0)
    try:
        journal = [RecordedEvent(row.seq, row.at, decode(row.type, row.payload)) for row in rows]
    except (KeyError, ValidationError) as error:
        raise RunStateError(
            f"A newer Heartbit wrote the journal of run {run.pk}: upgrade this one."
        ) from error
    query = "SELECT heartbit_history(r)::text FROM agents_run r WHERE r.id = %s"
    (thread,) = fetch_one(query, [run.pk])
    return RunHistory(journal, {row.seq: row.payload for row in rows}, json.loads(thread))
