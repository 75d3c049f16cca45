"""The fleet: the installation's workers and queues, and stop and restart of workers."""

from __future__ import annotations

from typing import Literal

from agents.reads.views import FleetOut
from heartbit_site.base.view import View
from heartbit_site.contract.operation import OPERATE, Noun


class WorkerActionOut(View):
    """The action requested of a worker."""

    id: int
    requested_action: Literal["stop", "restart"]


NOUN = Noun("fleet", read=OPERATE, write=OPERATE)

SHOW_FLEET = NOUN.get("show_fleet", "/fleet", FleetOut, "Get the fleet")
STOP_WORKER = NOUN.post("stop_worker", "/fleet/workers/{worker_id}/stop", WorkerActionOut)
RESTART_WORKER = NOUN.post("restart_worker", "/fleet/workers/{worker_id}/restart", WorkerActionOut)
