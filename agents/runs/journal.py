"""The async side of the journal: claim a run, and write under its lease.

The rules are the SQL functions' (``sql/functions.sql``); this module gives them types. Each call is
one statement, hence one transaction and one round trip, and holds a connection only that long.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from agents.choices import Home, RunStatus
from agents.errors import AgentNotFoundError, LeaseLostError
from agents.events import (
    CallWaiting,
    Ending,
    Event,
    Recorded,
    RunCancelled,
    RunFailed,
    RunSucceeded,
    decode_row,
    encode,
)
from agents.loop.ports import Moved, PendingSuspension, Settled
from heartbit_site.base.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEASE_LOST = "HB001"
DEFINITION_GONE = "HB004"

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]


def open_pool(conninfo: str, *, max_size: int = 10) -> Pool:
    """A pool for the process's loop; open it there. Statements commit by themselves."""
    return AsyncConnectionPool(
        conninfo,
        min_size=1,
        max_size=max_size,
        open=False,
        kwargs={"autocommit": True, "row_factory": dict_row, "prepare_threshold": 2},
    )


@dataclass(frozen=True, slots=True)
class Child:
    """A run created by a suspension."""

    id: UUID
    queue: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run this process now holds.

    Attributes:
        token: The lease; every write is refused once another claim has raised it.
        last_seq: The journal's end: this claim's own event.
        journal: The whole journal, oldest first, as stored; ``history`` decodes it.
    """

    id: UUID
    workspace_id: int
    version_id: int
    agent: str
    parent_id: UUID | None
    root_id: UUID
    queue: str
    model: str
    token: int
    last_seq: int
    journal: Sequence[dict[str, Any]]

    def history(self) -> tuple[Recorded, ...]:
        """The journal, decoded.

        Raises:
            KeyError: A newer Heartbit wrote an event that this one does not know.
            pydantic.ValidationError: The same, for an event's form.
        """
        return tuple(map(decode_row, self.journal))


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims: a process's heartbeat row and what it serves."""

    worker_id: int
    worker_name: str
    home: Home
    queues: tuple[str, ...]
    default_model: str


async def claim(pool: Pool, claimant: Claimant, run_id: UUID, *, task_id: str) -> Claimed | None:
    """Take the named run, else (on the fleet) the next eligible one; None when there is neither."""
    row = await _call(
        pool,
        "SELECT * FROM heartbit_claim(%s, %s, %s, %s, %s, %s, %s)",
        (
            run_id,
            claimant.home.value,
            list(claimant.queues),
            claimant.worker_id,
            claimant.worker_name,
            task_id,
            claimant.default_model,
        ),
    )
    if row is None:
        return None
    return Claimed(
        id=row["run_id"],
        workspace_id=row["workspace_id"],
        version_id=row["version_id"],
        agent=row["agent"],
        parent_id=row["parent_id"],
        root_id=row["root_id"],
        queue=row["queue"],
        model=row["model"],
        token=row["lease_token"],
        last_seq=row["last_seq"],
        journal=row["events"],
    )


class Lease:
    """The right to write one run's journal; implements the loop's ``Journal`` port.

    Attributes:
        last_seq: The journal's end as this lease knows it.
        ring: After a finish: the parent to ring, with its queue.
        children: After a suspension: the runs to start.
    """

    def __init__(self, pool: Pool, claimed: Claimed, *, on_commit: Callable[[int], None]) -> None:
        self._pool = pool
        self._on_commit = on_commit
        self._run = claimed.id
        self._token = claimed.token
        self.last_seq = claimed.last_seq
        self.ring: Child | None = None
        self.children: tuple[Child, ...] = ()

    async def record(self, *events: Event) -> Sequence[Recorded]:
        """Append events; return them, and others' before them, to be folded in order."""
        row = await self._write(
            "SELECT * FROM heartbit_record(%s, %s, %s, %s)",
            (self._run, self._token, self.last_seq, _json(map(encode, events))),
        )
        missed = tuple(map(decode_row, row["tail"]))
        first = row["last_seq"] - len(events) + 1
        self._committed(row)
        own = (Recorded(first + n, row["now"], event) for n, event in enumerate(events))
        return (*missed, *own)

    async def finish(self, ending: Ending, *events: Event) -> Settled | Moved:
        """Append ``events`` and the ending, and end the run, unless the journal moved."""
        status, output, error = _columns(ending)
        row = await self._write(
            "SELECT * FROM heartbit_finish(%s, %s, %s, %s, %s, %s, %s)",
            (
                self._run,
                self._token,
                self.last_seq,
                status.value,
                output,
                json.dumps(error) if error else None,
                _json(map(encode, (*events, ending))),
            ),
        )
        if row["ring"] is not None:
            self.ring = Child(row["ring"], row["ring_queue"])
        return self._settled(row)

    async def suspend(self, *pending: PendingSuspension) -> Settled | Moved:
        """Create what the calls wait for and give the worker back, unless the journal moved.

        Raises:
            AgentNotFoundError: A sub-agent was deleted since the model was offered it.
        """
        children: list[dict[str, Any]] = []
        events: list[Event] = []
        for call in pending:
            mine = [
                {
                    "id": str(new_id()),
                    "agent": child.agent,
                    "task": child.task,
                    "call_id": call.call_id,
                    "timeout_seconds": call.suspension.timeout_seconds,
                }
                for child in call.suspension.children
            ]
            children += mine
            events.append(CallWaiting(call.call_id, tuple(f"child:{c['id']}" for c in mine)))
        row = await self._write(
            "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s)",
            (
                self._run,
                self._token,
                self.last_seq,
                _json(map(encode, events)),
                json.dumps(children),
            ),
        )
        if not row["moved"]:
            self.children = tuple(
                Child(UUID(child["id"]), queue)
                for child, queue in zip(children, row["queues"], strict=True)
            )
        return self._settled(row)

    async def release(self, reason: str, *, delay_seconds: float = 0) -> bool:
        """Hand the run back to the queue; False when it was not ours any more."""
        row = await _call(
            self._pool,
            "SELECT heartbit_release(%s, %s, %s, %s) AS released",
            (self._run, self._token, reason, delay_seconds),
        )
        return bool(row and row["released"])

    def _committed(self, row: DictRow) -> None:
        self.last_seq = row["last_seq"]
        self._on_commit(self.last_seq)

    def _settled(self, row: DictRow) -> Settled | Moved:
        self._committed(row)
        if row["moved"]:
            return Moved(tuple(map(decode_row, row["tail"])))
        return Settled()

    async def _write(self, query: str, parameters: Sequence[Any]) -> DictRow:
        try:
            row = await _call(self._pool, query, parameters)
        except psycopg.Error as error:
            if error.sqlstate == LEASE_LOST:
                raise LeaseLostError(str(error.diag.message_primary)) from error
            if error.sqlstate == DEFINITION_GONE:
                raise AgentNotFoundError(str(error.diag.message_primary)) from error
            raise
        if row is None:
            raise LeaseLostError(f"run {self._run} has no row any more")
        return row


async def _call(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
    async with pool.connection() as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchone()


def _json(values: Any) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _columns(ending: Ending) -> tuple[RunStatus, str | None, dict[str, str] | None]:
    match ending:
        case RunSucceeded(output=output):
            return RunStatus.SUCCEEDED, output, None
        case RunFailed(kind=kind, message=message, limit=limit, partial=partial):
            error = {"kind": kind, "message": message, "limit": limit}
            return RunStatus.FAILED, partial or None, error
        case RunCancelled(partial=partial):
            return RunStatus.CANCELLED, partial or None, None
