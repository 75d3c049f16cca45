"""The fleet: the installation's workers and queues, and stop and restart of workers."""

from __future__ import annotations

from typing import Literal

from agents.reads.views import FleetOut
from heartbit_site.base.view import View
from heartbit_site.contract.operation import OPERATE, Operation


class WorkerActionOut(View):
    """The action requested of a worker."""

    id: int
    requested_action: Literal["stop", "restart"]


SHOW_FLEET = Operation("fleet.show_fleet", "GET /fleet", FleetOut, "Get the fleet", OPERATE)
STOP_WORKER = Operation(
    "fleet.stop_worker", "POST /fleet/workers/{worker_id}/stop", WorkerActionOut, "Stop a worker",
    OPERATE,
)  # fmt: skip
RESTART_WORKER = Operation(
    "fleet.restart_worker", "POST /fleet/workers/{worker_id}/restart", WorkerActionOut,
    "Restart a worker", OPERATE,
)  # fmt: skip
