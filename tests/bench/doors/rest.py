"""REST: ``POST /runs`` and ``GET /runs/{id}/result?wait``, over one connection a workload."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import UUID

from tests.bench.checks import check
from tests.bench.doors import Aim, Door
from tests.bench.rest_client import RestClient

if TYPE_CHECKING:
    import psutil

    from tests.bench.workloads import Workload


class Rest(Door):
    """A program with a key, which asks for the result in a request of its own."""

    name = "REST with wait"
    floor = "bare Celery"
    place = 2
    aims: ClassVar = {"": Aim("internal durable", more_ms=3)}

    def __enter__(self) -> Self:
        self._client = RestClient(self.workspace).__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._client.__exit__(*raised)

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        self._client.reconnect()
        body = self._client.body(workload)
        began = time.perf_counter()
        for _ in range(workload.messages):
            run_id, result = self.answered(self._client, body)
            check(result and result["text"])
            self.ids.append(run_id)
        return time.perf_counter() - began

    def answered(self, client: RestClient, body: dict[str, Any]) -> tuple[UUID, Any]:
        """Start a run, wait for its end, and return its id and its result."""
        run = client.ask("POST", "/runs", body)["id"]
        return UUID(run), client.ask("GET", f"/runs/{run}/result?wait=30")["result"]

    @property
    def processes(self) -> list[psutil.Process]:
        """See ``Door``."""
        return self._client.processes
