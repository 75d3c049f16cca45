"""Who goes on with a run whose process has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.choices import TERMINAL, Home
from agents.errors import RunStateError
from agents.events import RunStarted
from agents.models import RunEvent, WorkerHeartbeat
from agents.runtime.control import LOCK_CLASS

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import Run


@dataclass(frozen=True, slots=True)
class Resumption:
    """What is to be done about a live run.

    Attributes:
        root_id: The tree that is meant, whichever of its runs was named.
        takes_over: Whether the calling process should execute it: it is local, and no process that
            lives looks after it.
        executor: The process that does, as ``host:pid``; empty when it is the caller's turn, or
            the fleet's.
    """

    root_id: UUID
    takes_over: bool
    executor: str = ""


def resume_run(run: Run) -> Resumption:
    """Find out who has to go on with a run. Nothing is written: claims decide who has it.

    Raises:
        RunStateError: Its tree has ended.
    """
    root = run.root
    if root.status in TERMINAL:
        past = "was " if root.status in ("cancelled", "quarantined") else ""
        raise RunStateError(
            f"Run {root.pk} {past}{root.status} already: `heartbit result {root.pk}` shows how; "
            "start the task again to repeat it."
        )
    if root.home == Home.FLEET:
        return Resumption(root.pk, takes_over=False)
    executor = executor_of(root.pk)
    return Resumption(root.pk, takes_over=executor is None, executor=executor or "")


def executor_of(root_id: UUID) -> str | None:
    """The living process, as ``host:pid``, that last worked on a local tree; None: it has ended."""
    last = (
        RunEvent.objects.filter(run__root_id=root_id, type=RunStarted.type)
        .order_by("-at")
        .values_list("payload__worker", flat=True)
        .first()
    )
    if last is None:
        return None
    there = WorkerHeartbeat.objects.alive().filter(name=last, home=Home.LOCAL)
    holding = there.extra(
        where=[
            # Killed a moment ago it still beats by its row, but the kernel let go of its lock.
            "EXISTS (SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
            " AND l.classid = %s::oid AND l.objid = agents_workerheartbeat.id::oid)",
        ],
        params=[LOCK_CLASS],
    )
    return last if holding.exists() else None
