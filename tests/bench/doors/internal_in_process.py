"""Internal, in process: the same journal and engine in this process, without a broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import psutil

from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_result
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import aio
from tests.bench.checks import check
from tests.bench.doors import Door
from tests.bench.workspace import starts

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.workloads import Workload

SLOTS = 100


class InternalInProcess(Door):
    """The runtime in one process, without a surface."""

    name = "internal in process"
    floor = "bare asyncio"
    place = 5

    def __enter__(self) -> Self:
        self._host = aio.run(_started_host())
        return self

    def __exit__(self, *raised: Any) -> None:
        aio.run(self._host.stop())

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        begin = starts(self.workspace, workload, Placement.LOCAL)
        began = time.perf_counter()
        for _ in range(workload.messages):
            run_id = begin()
            check(aio.run(self._executed(run_id)))
            self.ids.append(run_id)
        return time.perf_counter() - began

    @property
    def processes(self) -> list[psutil.Process]:
        """See ``Door``."""
        return [psutil.Process()]

    async def _executed(self, run_id: UUID) -> str | None:
        self._host.execute(run_id)
        end = await wait_for_result(run_id, self._host.window)
        return end.output if end.status == RunStatus.SUCCEEDED else None


async def _started_host() -> LocalHost:
    host = LocalHost(slots=SLOTS)
    await host.start()
    return host
