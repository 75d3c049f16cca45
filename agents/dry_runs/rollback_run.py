"""Run of a transactional tool in a transaction that is always rolled back.

Changes to this database and messages sent on commit are undone. Three things stay: sequence
numbers, statistics, and effects outside the database, which a transactional tool must not have.

A computing tool cannot be stopped, so its caller stops waiting instead. The threads are daemons:
they do not keep the process alive, and closing their connections rolls back their transactions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from django.db import DatabaseError, Error, connection, connections, transaction

from agents.dry_runs import transaction_diff
from agents.dry_runs.changes_view import DryRunOut, TableChangeOut
from agents.dry_runs.limits import Limits
from agents.dry_runs.transaction_diff import Start
from agents.errors import DryRunStoppedError
from agents.runtime.toolset.transactional import execute_transactional
from tools.calls.pipeline import PreparedCall
from tools.calls.result import truncate

TOOL_SECONDS = 5.0
LOCK_SECONDS = 1.0
RESULT_BYTES = 4000


def rehearse(prepared: PreparedCall) -> DryRunOut:
    """Run a call of a transactional tool, read its changes, and roll them back.

    Raises:
        DryRunStoppedError: The call took too long, waited for a lock, or ended the transaction.
    """
    with transaction.atomic(durable=True):  # the outermost, so its rollback undoes everything
        try:
            return _tried(prepared)
        finally:
            transaction.set_rollback(True)


def _tried(prepared: PreparedCall) -> DryRunOut:
    seconds = min(TOOL_SECONDS, prepared.timeout_seconds)
    with connection.cursor() as cursor:
        transaction_diff.limit(cursor, statement=seconds, lock=LOCK_SECONDS, idle=seconds)
    start = transaction_diff.begin()
    limits = Limits(seconds)
    with connection.execute_wrapper(limits):
        done = execute_transactional(prepared, around=limits.around)
    # The sentence in ``limits.stopped`` promises that nothing was kept: verify that first.
    if not _is_whole(start) and (limits.stopped is None or not transaction_diff.was_undone(start)):
        raise DryRunStoppedError(
            f"{prepared.spec.name} ended or lost its transaction, so its changes may have been "
            "kept: check the database, and do not approve the call."
        )
    if limits.stopped is not None:
        raise limits.stopped
    tables: list[TableChangeOut] = []
    refused, more = "", 0
    if done.status == "ok":
        refused = _refusal()
        tables, more = transaction_diff.read(start)
    return DryRunOut(
        tool=prepared.spec.name,
        arguments=dict(prepared.arguments),
        status=done.status,
        result=truncate(done.content, RESULT_BYTES),
        refused=refused,
        tables=tables,
        more_tables=more,
    )


def _is_whole(start: Start) -> bool:
    """Return True if the tool's transaction is still open and holds all its changes."""
    try:
        # A savepoint that could not be released was lost with its transaction.
        return not transaction.get_rollback() and transaction_diff.is_same(start)
    except Error:
        return False


def _refusal() -> str:
    """Return the error that a commit would raise, since most foreign keys are checked only then."""
    try:
        with transaction.atomic():
            connection.check_constraints()
    except DatabaseError as error:
        return str(error).strip().partition("\n")[0]
    return ""


AT_ONCE = 2
PATIENCE_SECONDS = 15.0

_room = threading.BoundedSemaphore(AT_ONCE)


async def in_time(attempt: Callable[[], DryRunOut]) -> DryRunOut:
    """Return the result of ``attempt``, which makes the dry run and may use the ORM.

    Raises:
        DryRunStoppedError: Too many dry runs are running, or this one does not end in time.
    """
    if not _room.acquire(blocking=False):
        raise DryRunStoppedError(
            f"{AT_ONCE} dry runs are running, the maximum: try again in a moment."
        )
    future: Future[DryRunOut] = Future()
    future.set_running_or_notify_cancel()  # now only the thread can complete it
    threading.Thread(target=_work, args=(attempt, future), name="dry-run", daemon=True).start()
    awaited = asyncio.wrap_future(future)
    try:
        await asyncio.wait({awaited}, timeout=PATIENCE_SECONDS)
        if not awaited.done():
            raise DryRunStoppedError(
                f"The tool did not finish within {PATIENCE_SECONDS:g} s: its transaction is "
                "rolled back when it ends."
            )
        return awaited.result()
    finally:
        awaited.cancel()  # a later result is discarded


def _work(attempt: Callable[[], DryRunOut], future: Future[DryRunOut]) -> None:
    try:
        try:
            result = attempt()
        finally:
            connections.close_all()
            _room.release()
    except BaseException as error:  # noqa: BLE001  raised again in the waiting caller
        future.set_exception(error)
    else:
        future.set_result(result)
