"""Lookup of the process that executes a local run tree."""

from __future__ import annotations

from uuid import UUID

from agents.choices import Placement
from agents.journal.events import RunStarted
from agents.models import RunEvent, WorkerHeartbeat
from agents.runtime.recovery.control_session import LOCK_CLASS


def executor_of(root_id: UUID) -> str | None:
    """Return the process that last executed a local tree, as ``host:pid``; None if it has ended."""
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
            # Right after a kill the heartbeat is still recent, but the kernel has freed the lock.
            "EXISTS (SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
            " AND l.classid = %s::oid AND l.objid = agents_workerheartbeat.id::oid)",
        ],
        params=[LOCK_CLASS],
    )
    return last if holding.exists() else None
