"""The living process that works on a local run tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.choices import Placement
from agents.journal.events import RunStarted
from agents.models import RunEvent, WorkerHeartbeat
from agents.runtime.control_session import LOCK_CLASS

if TYPE_CHECKING:
    from uuid import UUID


def executor_of(root_id: UUID) -> str | None:
    """Return the living process, as ``host:pid``, that last worked on a local tree.

    None: the process has ended.
    """
    last = (
        RunEvent.objects.filter(run__root_id=root_id, type=RunStarted.type)
        .order_by("-at")
        .values_list("payload__worker", flat=True)
        .first()
    )
    if last is None:
        return None
    there = WorkerHeartbeat.objects.alive().filter(name=last, home=Placement.LOCAL)
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
