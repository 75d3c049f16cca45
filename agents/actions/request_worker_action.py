"""Ask a worker of the fleet to stop, or to restart itself."""

from __future__ import annotations

from typing import Literal

from django.db import transaction

from agents.choices import Placement
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models import WorkerHeartbeat
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import SYSTEM, Actor, record
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.rights import require

WorkerRequest = Literal["stop", "restart"]


class WorkerNotFoundError(NotFoundError):
    """There is no running worker with that id."""


@transaction.atomic
def request_worker_action(worker_id: int, wanted: WorkerRequest, *, by: Actor = SYSTEM) -> None:
    """Ask a worker to hand its runs back and stop, or then restart.

    The worker is notified at once and reads the request again at each heartbeat.

    Raises:
        WorkerNotFoundError: No such worker is running.
    """
    require(by, "fleet:manage", workspace_id=None)
    workers = WorkerHeartbeat.objects.filter(pk=worker_id)
    if not workers.filter(home=Placement.FLEET, left_at=None).update(requested_action=wanted):
        raise WorkerNotFoundError(
            f"There is no worker {worker_id}: `heartbit fleet` lists those that run."
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
