"""Internal, durable: ``start_run`` here, the worker executes, Valkey tells of the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings

from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_result
from agents.live.valkey import ValkeySubscriber, connect
from heartbit_site.base import aio
from tests.bench.checks import check
from tests.bench.doors import Aim, Door
from tests.bench.workspace import starts

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from tests.bench.workloads import Workload


class InternalDurable(Door):
    """The runtime without a surface."""

    name = "internal durable"
    floor = "bare Celery"
    place = 1
    aims: ClassVar = {
        "W1": Aim("bare Celery", 1.0),
        "W2": Aim("bare Celery", 1.3),
        "W3": Aim("bare Celery", 1.0),
        "W4": Aim("bare Celery", 0.9),
    }

    def __enter__(self) -> Self:
        self._client = aio.run(_client())
        self._source = ValkeySubscriber(self._client)
        return self

    def __exit__(self, *raised: Any) -> None:
        aio.run(self._client.aclose())

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        begin = starts(self.workspace, workload, Placement.FLEET)
        began = time.perf_counter()
        for _ in range(workload.messages):
            run_id = begin()
            end = aio.run(wait_for_result(run_id, self._source))
            check(end.output if end.status == RunStatus.SUCCEEDED else None)
            self.ids.append(run_id)
        return time.perf_counter() - began


async def _client() -> Redis:
    return connect(settings.REDIS_URL)
