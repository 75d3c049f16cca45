"""Ask a worker of the fleet to stop, or to restart itself."""

from __future__ import annotations

from typing import Literal

from django.db import connection

from heartbit_site.base.errors import NotFoundError

WorkerRequest = Literal["stop", "restart"]


class WorkerNotFoundError(NotFoundError):
    """There is no worker with that id (any more)."""


def ask_worker(worker_id: int, wanted: WorkerRequest) -> None:
    """Tell it: it hands its runs back and leaves, and comes back when it was to restart.

    It hears of it at once, and reads it again at each heartbeat until it has left.

    Raises:
        WorkerNotFoundError: No such worker is there (any more).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_ask_worker(%s, %s)", [worker_id, wanted])
        (asked,) = cursor.fetchone()
    if not asked:
        raise WorkerNotFoundError(
            f"There is no worker {worker_id} (any more): `heartbit fleet` lists them."
        )
