"""A transactional tool in a transaction that is undone, whatever happens.

What it does to this database is gone afterwards, and so are the messages it would send on commit.
Three things stay: numbers that a sequence gave out, statistics, and whatever the tool does outside
the database, which a transactional one must not do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import DatabaseError, Error, connection, transaction

from agents.dry_runs import transaction_diff
from agents.dry_runs.changes import DryRun
from agents.dry_runs.limits import Limits
from agents.errors import DryRunStoppedError
from agents.runtime.toolbox import execute_transactional
from tools.result import truncate

if TYPE_CHECKING:
    from agents.dry_runs.changes import TableChange
    from agents.dry_runs.transaction_diff import Start
    from tools.pipeline import PreparedCall

TOOL_SECONDS = 5.0
LOCK_SECONDS = 1.0
RESULT_BYTES = 4000


def rehearse(prepared: PreparedCall) -> DryRun:
    """Run a call, read what it changed, and undo it.

    Args:
        prepared: A call of a transactional tool.

    Raises:
        DryRunStoppedError: It took too long, waited for a lock, or ended the transaction itself.
    """
    with transaction.atomic(durable=True):  # the outermost: to undo it is to undo everything
        try:
            return _tried(prepared)
        finally:
            transaction.set_rollback(True)


def _tried(prepared: PreparedCall) -> DryRun:
    seconds = min(TOOL_SECONDS, prepared.timeout_seconds)
    with connection.cursor() as cursor:
        transaction_diff.limit(cursor, statement=seconds, lock=LOCK_SECONDS, idle=seconds)
    start = transaction_diff.begin()
    limits = Limits(seconds)
    with connection.execute_wrapper(limits):
        done = execute_transactional(prepared, around=limits.around)
    # Being stopped says that nothing was kept, so it is said only where that is so.
    if not _is_whole(start) and (limits.stopped is None or not transaction_diff.was_undone(start)):
        raise DryRunStoppedError(
            f"{prepared.spec.name} ended or lost its transaction: what it did may have been "
            "kept, so look at the database, and do not approve the call."
        )
    if limits.stopped is not None:
        raise limits.stopped
    tables: tuple[TableChange, ...] = ()
    refused, more = "", 0
    if done.status == "ok":
        refused = _refusal()
        tables, more = transaction_diff.read(start)
    return DryRun(
        tool=prepared.spec.name,
        arguments=dict(prepared.arguments),
        status=done.status,
        result=truncate(done.content, RESULT_BYTES)[0],
        refused=refused,
        tables=tables,
        more_tables=more,
    )


def _is_whole(start: Start) -> bool:
    """Whether all that the tool did is in the transaction, which is still open."""
    try:
        # A savepoint that could not be left went with its transaction.
        return not transaction.get_rollback() and transaction_diff.is_same(start)
    except Error:
        return False


def _refusal() -> str:
    """What the database would say at the end: it checks most foreign keys only then."""
    try:
        with transaction.atomic():
            connection.check_constraints()
    except DatabaseError as error:
        return str(error).strip().partition("\n")[0]
    return ""
