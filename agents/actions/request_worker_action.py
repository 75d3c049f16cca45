"""Ask a worker of the fleet to stop, or to restart itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from django.db import transaction

from agents.choices import Placement
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models import WorkerHeartbeat
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import SYSTEM, record
from heartbit_site.base.errors import NotFoundError

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor

WorkerRequest = Literal["stop", "restart"]


class WorkerNotFoundError(NotFoundError):
    """There is no worker with that id (any more)."""


@transaction.atomic
def request_worker_action(worker_id: int, wanted: WorkerRequest, *, by: Actor = SYSTEM) -> None:
    """Tell it: it hands its runs back and leaves, and comes back when it was to restart.

    It hears of it at once, and reads it again at each heartbeat until it has left.

    Raises:
        WorkerNotFoundError: No such worker is there (any more).
    """
    workers = WorkerHeartbeat.objects.filter(pk=worker_id)
    if not workers.filter(home=Placement.FLEET, left_at=None).update(requested_action=wanted):
        raise WorkerNotFoundError(
            f"There is no worker {worker_id} (any more): `heartbit fleet` lists them."
        )
    notify_workers("worker", worker_id)
    record(
        by,
        f"worker.{wanted}",
        workspace=None,
        target=f"worker:{worker_id}",
        label=workers.values_list("name", flat=True).first() or "",
    )
    notify_on_commit(EVERYWHERE, "fleet")
