"""The lease: the right to write one run's journal, with the writes.

The SQL functions contain the rules (``sql/lease.sql``); this module gives them types.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import psycopg
from django.db import DatabaseError
from psycopg.rows import DictRow

from agents.choices import RunStatus
from agents.errors import JournalAwayError, LeaseLostError, SubAgentUnavailableError
from agents.journal.events import (
    CallWaiting,
    ChildStarted,
    Ending,
    Event,
    RecordedEvent,
    RunCancelled,
    RunFailed,
    RunSucceeded,
    decode_row,
    encode,
)
from agents.journal.waits import CHILD, kind_of, question_key
from agents.loop.ports import Committed, Conflict, Pending, PendingChildren, PendingSuspension
from agents.runs.claims import ClaimedRun, NextClaim, SuspectRun, claim_parameters, decode_claim
from agents.runs.live_entries import RunEnd
from agents.runs.pool import Pool, call
from agents.runs.transactional import CancelledMeanwhileError, in_one_transaction
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import Suspension

#: Errors that every retry with the same data would raise again.
ABOUT_THE_DATA = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    psycopg.errors.StatementTooComplex,
)
_RECORD = "SELECT * FROM heartbit_record(%s, %s, %s, %s)"
_FINISH = "SELECT * FROM heartbit_finish(%s, %s, %s, %s, %s, %s, %s, %s)"
_FINISH_AND_CLAIM = """
    SELECT * FROM heartbit_finish_and_claim(
        %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_SUSPEND = "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s, %s, %s)"
_SUSPEND_AND_CLAIM = """
    SELECT * FROM heartbit_suspend_and_claim(
        %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_LOST, _GONE = "HB001", "HB004"  # SQLSTATEs of Heartbit's functions


@dataclass(frozen=True, slots=True)
class Child:
    """A run created by a suspension."""

    id: UUID
    queue: str


class OnWaits(Protocol):
    """Callback for waits that have begun and are committed."""

    def __call__(self, children: Sequence[Child], *, asks_people: bool) -> None:
        """Start the children, and notify people if they are asked."""
        ...


def _ignore(children: Sequence[Child], *, asks_people: bool) -> None:
    pass


class Lease:
    """The right to write one run's journal; implements the loop's ``Journal`` port.

    Attributes:
        last_seq: End of the journal as far as this lease knows.
        ring: After a finish: the run to wake, with its queue.
        next: After a finish or a suspension: the run that was claimed in the same transaction.
        end: After a finish: the end of the run.
    """

    def __init__(
        self,
        pool: Pool,
        claimed: ClaimedRun,
        *,
        executor: Executor,
        on_commit: Callable[[int], None],
        next_claim: Callable[[], NextClaim | None] = lambda: None,
        on_waits: OnWaits = _ignore,
    ) -> None:
        """Take the connections and the claimed run.

        Args:
            pool: Connections of the process.
            claimed: The run.
            executor: Runs the bodies of ``transact``.
            on_commit: Called with the journal's new end after each write.
            next_claim: Called at a child's finish, and at a suspension for one child; returns the
                claimant of the run that is woken or started. None: another claim takes it.
            on_waits: Called when waits begin, with the runs to start.
        """
        self._pool = pool
        self._executor = executor
        self._on_commit = on_commit
        self._next_claim = next_claim
        self._on_waits = on_waits
        self._run, self._is_child = claimed.id, claimed.parent_id is not None
        self._token = claimed.token
        self.last_seq = claimed.last_seq
        self.ring: Child | None = None
        self.next: ClaimedRun | SuspectRun | None = None
        self.end: RunEnd | None = None

    async def record(self, *events: Event) -> Sequence[RecordedEvent]:
        """Append events; return them after those of other writers, to be folded in order."""
        folded = self.last_seq
        parameters = (*self._held(), folded, _json(map(encode, events)))
        row = await self._write(_RECORD, parameters)
        self.committed(row["last_seq"])
        return _recorded(folded, row, events)

    def record_here(self, folded: int, *events: Event) -> Sequence[RecordedEvent]:
        """Append events from a thread; fold the result and call ``committed`` on the loop.

        Args:
            folded: Last event that is folded, or will be folded before these.
            events: As for ``record``.
        """
        parameters = (*self._held(), folded, _json(map(encode, events)))
        try:
            row = self._pool.call_here(_RECORD, parameters)
        except psycopg.Error as error:
            raise _translated(error) from error
        return _recorded(folded, self._existing(row), events)

    def committed(self, seq: int) -> None:
        """Learn, on the loop, that the journal is committed up to this event."""
        self.last_seq = max(self.last_seq, seq)
        self._on_commit(self.last_seq)

    async def transact(
        self, body: Callable[[], Event], *, timeout_seconds: float
    ) -> Sequence[RecordedEvent]:
        """Run ``body`` in a thread, in one transaction with the event it returns.

        Returns:
            Events like ``record``, without the body's event if the body timed out (it can no longer
            commit then) or the run was cancelled meanwhile.
        """
        folded = self.last_seq
        # The tool's thread knows the run, as a trigger on what it changes asks.
        write = partial(in_one_transaction, self._run, self._token, folded, body)
        work = self._executor.submit(copy_context().run, write)
        try:
            async with asyncio.timeout(timeout_seconds):
                event, row = await asyncio.wrap_future(work)
        except TimeoutError:
            row = await self._write("SELECT heartbit_renew(%s, %s) AS token", self._held())
            self._token = row["token"]
            return await self.record()  # the body may have committed just before
        except CancelledMeanwhileError:
            return await self.record()  # the cancel is in the tail
        except DatabaseError as error:
            # Django wraps the driver's error, which the runtime expects.
            raise _translated(error.__cause__ or error) from error
        self.committed(row["last_seq"])
        return _recorded(folded, row, (event,))

    async def finish(self, ending: Ending, *events: Event) -> Committed | Conflict:
        """Append ``events`` and the ending and end the run, unless the journal has moved on."""
        status, output, error = _columns(ending)
        structured = ending.structured if isinstance(ending, RunSucceeded) else None
        parameters = (
            *self._held(),
            self.last_seq,
            status.value,
            output,
            json.dumps(error) if error else None,
            _json(map(encode, (*events, ending))),
            None if structured is None else json.dumps(structured, ensure_ascii=False),
        )
        following = self._next_claim() if self._is_child else None
        if following is None:
            row = await self._write(_FINISH, parameters)
        else:
            also = claim_parameters(following.claimant, following.task_id)
            row = await self._write(_FINISH_AND_CLAIM, (*parameters, *also))
            if row["claimed"] is not None:
                self.next = decode_claim(row["claimed"])
        if row["ring"] is not None:
            self.ring = Child(row["ring"], row["ring_queue"])
        if not row["moved"]:
            self.end = RunEnd(self._run, status.value, output, structured, error)
        return self._settled(row)

    async def suspend(
        self, *pending: Pending, first: Sequence[Event] = (), wake_at: int = 0
    ) -> Committed | Conflict:
        """Create the waits and release the worker; see ``Journal.suspend``.

        Raises:
            SubAgentUnavailableError: A sub-agent was deleted or stopped after the offer.
        """
        waits, events = _waits(pending)
        written = _json(map(encode, (*first, *events))), json.dumps(waits)
        parameters = (*self._held(), self.last_seq, *written, wake_at)
        is_only_child = sum("agent" in wait for wait in waits) == 1
        following = self._next_claim() if is_only_child else None
        if following is None:
            row = await self._write(_SUSPEND, (*parameters, False))
        else:
            also = claim_parameters(following.claimant, following.task_id)
            row = await self._write(_SUSPEND_AND_CLAIM, (*parameters, *also))
            if row["claimed"] is not None:
                self.next = decode_claim(row["claimed"])
        settled = self._settled(row)
        self._tell(waits, row)
        return settled

    async def begin_waits(self, *pending: Pending) -> Sequence[RecordedEvent] | Conflict:
        """Create the waits and keep the worker; see ``Journal.begin_waits``.

        Raises:
            SubAgentUnavailableError: A sub-agent was deleted or stopped after the offer.
        """
        waits, events = _waits(pending)
        written = _json(map(encode, events)), json.dumps(waits)
        row = await self._write(_SUSPEND, (*self._held(), self.last_seq, *written, 0, True))
        settled = self._settled(row)
        self._tell(waits, row)
        return settled if isinstance(settled, Conflict) else tuple(map(decode_row, row["tail"]))

    def _tell(self, waits: Sequence[Mapping[str, Any]], row: DictRow) -> None:
        if row["moved"]:
            return
        is_claimed = row.get("claimed") is not None
        children = [UUID(wait["id"]) for wait in waits if "id" in wait and not is_claimed]
        self._on_waits(
            tuple(map(Child, children, row["queues"] or ())),
            asks_people=any(wait["asks_person"] for wait in waits),
        )

    async def release(self, reason: str, *, delay_seconds: float = 0) -> bool:
        """Release the run to the queue; return False if the lease was already lost."""
        row = await self._write(
            "SELECT heartbit_release(%s, %s, %s, %s) AS released",
            (*self._held(), reason, delay_seconds),
        )
        return bool(row["released"])

    async def checkpoint(self, seq: int, form: int, state: Mapping[str, Any]) -> None:
        """Store the fold of the journal up to ``seq``; allowed after a release, too.

        Raises:
            psycopg.Error: The checkpoint was not stored.
        """
        await call(
            self._pool,
            "SELECT heartbit_checkpoint(%s, %s, %s, %s)",
            (self._run, seq, form, json.dumps(state)),
        )

    @property
    def token(self) -> int:
        """Fencing token of the writes; ``transact`` may renew it."""
        return self._token

    def _held(self) -> tuple[UUID, int]:
        return self._run, self._token

    def _settled(self, row: DictRow) -> Committed | Conflict:
        self.committed(row["last_seq"])
        if row["moved"]:
            return Conflict(tuple(map(decode_row, row["tail"])))
        return Committed()

    async def _write(self, query: str, parameters: Sequence[Any]) -> DictRow:
        try:
            row = await call(self._pool, query, parameters)
        except psycopg.Error as error:
            raise _translated(error) from error
        return self._existing(row)

    def _existing(self, row: DictRow | None) -> DictRow:
        if row is None:
            raise LeaseLostError(f"run {self._run} no longer has a row")
        return row


def _recorded(
    folded: int, row: Mapping[str, Any], events: Sequence[Event]
) -> Sequence[RecordedEvent]:
    """Return other writers' events after ``folded``, followed by the own ones."""
    missed = tuple(map(decode_row, row["tail"]))
    first = folded + len(missed) + 1
    written = first + len(events) - 1 == row["last_seq"]  # a cancel rejects intents
    own = (RecordedEvent(first + n, row["now"], event) for n, event in enumerate(events))
    return (*missed, *own) if written else missed


def _translated(error: BaseException) -> BaseException:
    """Translate a driver's error: a violated rule of the journal, or an unavailable database.

    All errors that are not about the data itself count as unavailable: a failover, a running
    migration, a lost session. The run is then requeued and resumed by a later claim.
    """
    if isinstance(error, psycopg.Error):
        said = str(error.diag.message_primary)
        if error.sqlstate == _LOST:
            return LeaseLostError(said)
        if error.sqlstate == _GONE:
            return SubAgentUnavailableError(said, str(error.diag.message_detail))
        if not isinstance(error, ABOUT_THE_DATA):
            return JournalAwayError(f"the journal could not be written: {error}")
    return error


def _waits(pending: Sequence[Pending]) -> tuple[list[dict[str, Any]], list[Event]]:
    """Return the waits that ``heartbit_suspend`` creates, and the events to journal with them."""
    waits: list[dict[str, Any]] = []
    events: list[Event] = []
    for asked in pending:
        if isinstance(asked, PendingChildren):
            for child in asked.children:
                run = child.run_id or new_id()
                started = ChildStarted(f"{CHILD.name}:{run}", str(run), child.agent)
                row = CHILD.row(started.key, timeout_seconds=asked.timeout_seconds)
                waits.append(row | child.row(run))
                events.append(started)
            continue
        if not isinstance(asked, PendingSuspension):
            waits.append(asked.wait)
            events.append(asked)
            continue
        suspension, call_id = asked.suspension, asked.call_id
        kind, seconds = kind_of(suspension.kind), suspension.timeout_seconds
        runs = [child.run_id or new_id() for child in suspension.children]
        keys = tuple(f"{kind.name}:{subject}" for subject in (runs if kind is CHILD else [call_id]))
        if suspension.question is not None:
            keys = (question_key(call_id, asked.number),)
        elif suspension.state:
            keys = (f"{kind.name}:{call_id}:{asked.number}",)
        rows = [kind.row(key, call_id, timeout_seconds=seconds) for key in keys]
        for row, run, child in zip(rows, runs, suspension.children, strict=False):
            row |= child.row(run)
        waits += rows
        events.append(_waiting(call_id, keys, suspension, runs))
    return waits, events


def _waiting(
    call_id: str, keys: tuple[str, ...], suspension: Suspension, runs: Sequence[UUID]
) -> CallWaiting:
    ids = tuple(map(str, runs))
    waiting = CallWaiting(call_id, keys, suspension.kind, ids, state=suspension.state)
    asked = suspension.question
    if asked is None:
        return waiting
    return replace(
        waiting,
        question=asked.text,
        form=dict(asked.form),
        state=asked.state,
        group=asked.group,
    )


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
