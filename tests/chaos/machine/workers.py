"""A worker's writes as plain calls of the journal's functions, for one run tree at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import DatabaseError, connection

from agents.choices import Placement
from agents.journal.events import decode_row, encode
from agents.loop.agent_state import AgentState
from agents.models import WorkerHeartbeat
from agents.runtime.recovery.control_session import LOCK_CLASS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.journal.events import Ending, Event

LOST = "HB001"
REFUSED = "HB005"


@dataclass(slots=True)
class Grip:
    """What a claim gave a worker; it stays in the worker's hands when the lease is lost.

    Attributes:
        state: The fold of what the worker has seen.
    """

    run_id: UUID
    worker_id: int
    token: int
    state: AgentState


def rows(query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a statement returns."""
    with connection.cursor() as cursor:
        cursor.execute(query, list(parameters))
        return list(cursor.fetchall())


def refused(error: DatabaseError) -> str:
    """The SQLSTATE of one of our rules; anything else is raised again."""
    cause = error.__cause__
    if isinstance(cause, psycopg.Error) and (cause.sqlstate or "").startswith("HB"):
        return str(cause.sqlstate)
    raise error


def new_worker() -> int:
    """A heartbeat row and its lock: the model alone says who is dead, and no real sweeper."""
    row = WorkerHeartbeat.objects.create(name="model:1", home=Placement.LOCAL, lease_seconds=3600)
    rows("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, row.pk))
    return int(row.pk)


def forget_all() -> None:
    """Let go of all locks: whoever was a worker is none any more."""
    rows("SELECT pg_advisory_unlock_all()", ())


def claim(run_id: UUID) -> Grip | None:
    """A new worker claims the run, alone."""
    worker_id = new_worker()
    found = rows(
        "SELECT lease_token, events FROM heartbit_claim(%s, 'local', '{}', %s, 'model:1', '',"
        " 'openai:fake', '', 2, true)",
        (run_id, worker_id),
    )
    if not found:
        return None
    [(token, events)] = found
    state = AgentState()
    fold(state, events)
    return Grip(run_id, worker_id, token, state)


def fold(state: AgentState, events: str | list[dict[str, Any]]) -> None:
    """Fold stored events."""
    for row in json.loads(events) if isinstance(events, str) else events:
        state.fold(decode_row(row))


def record(grip: Grip, *events: Event) -> bool:
    """Append; False: the lease is lost."""
    try:
        found = rows(
            "SELECT tail FROM heartbit_record(%s, %s, %s, %s)",
            (grip.run_id, grip.token, grip.state.folded_seq, _json(events)),
        )
    except DatabaseError as error:
        assert refused(error) == LOST
        return False
    fold(grip.state, found[0][0])
    _own(grip, events)
    return True


def finish(grip: Grip, status: str, ending: Ending) -> bool | None:
    """End the run; None: the journal had moved and is folded now; False: the lease is lost."""
    parameters = (status, "text", None, _json((ending,)))
    return _let_go(grip, "heartbit_finish(%s, %s, %s, %s, %s, %s, %s)", *parameters)


def suspend(grip: Grip, events: Sequence[Event], waits: Sequence[dict[str, Any]]) -> bool | None:
    """Give the worker back until the waits end; as ``finish`` otherwise."""
    parameters = (_json(events), json.dumps(list(waits)))
    return _let_go(grip, "heartbit_suspend(%s, %s, %s, %s, %s)", *parameters)


def _let_go(grip: Grip, function: str, *parameters: str | None) -> bool | None:
    held = (grip.run_id, grip.token, grip.state.folded_seq)
    try:
        [(moved, tail)] = rows(f"SELECT moved, tail FROM {function}", (*held, *parameters))  # noqa: S608  two functions' names
    except DatabaseError as error:
        assert refused(error) == LOST
        return False
    if moved:
        fold(grip.state, tail)
        return None
    return True


def _own(grip: Grip, events: Sequence[Event]) -> None:
    seq = grip.state.folded_seq
    for number, event in enumerate(events, 1):
        row = {**encode(event), "seq": seq + number, "at": "2026-01-01T00:00:00+00:00"}
        grip.state.fold(decode_row(row))


def _json(events: Sequence[Event]) -> str:
    return json.dumps([encode(event) for event in events])
