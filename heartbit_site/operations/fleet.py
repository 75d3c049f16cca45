"""The fleet: the installation's workers and queues, and stop and restart of workers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.actions.fleet import request_worker_action
from agents.reads.fleet import read_fleet
from agents.reads.views import FleetOut
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.fleet import WorkerActionOut

WorkerId = Annotated[int, Field(ge=1, le=2**63 - 1)]


def show_fleet(access: Access) -> FleetOut:
    """Return the installation's workers and queues, for its operators (scope fleet:manage)."""
    return read_fleet()


def stop_worker(access: Access, worker_id: WorkerId) -> WorkerActionOut:
    """Ask a worker to requeue its runs and stop; GET /fleet shows it until then."""
    request_worker_action(worker_id, "stop", by=actor_of(access))
    return WorkerActionOut(id=worker_id, requested_action="stop")


def restart_worker(access: Access, worker_id: WorkerId) -> WorkerActionOut:
    """Ask a worker to requeue its runs and start again, under its name and a new id."""
    request_worker_action(worker_id, "restart", by=actor_of(access))
    return WorkerActionOut(id=worker_id, requested_action="restart")
