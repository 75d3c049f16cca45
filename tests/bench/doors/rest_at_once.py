"""REST in one request: ``POST /runs?wait``, over one connection a workload."""

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


class RestAtOnce(Door):
    """A program with a key, which is answered once the run has ended."""

    name = "REST in one request"
    floor = "bare Celery"
    place = 3
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
            run = self._client.ask("POST", "/runs?wait=30", body)
            check(run["result"] and run["result"]["text"])
            self.ids.append(UUID(run["id"]))
        return time.perf_counter() - began

    @property
    def processes(self) -> list[psutil.Process]:
        """See ``Door``."""
        return self._client.processes
