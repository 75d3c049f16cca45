"""Floors: the same calls without Heartbit, as coroutines and as Celery tasks."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Protocol

from celery.exceptions import TimeoutError as CeleryTimeoutError

from heartbit_site.base import aio
from tests.bench import calls, celery_app
from tests.bench.checks import check
from tests.bench.workloads import LEAD, SOLO, WORKER, Workload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CELERY_SECONDS = 10
CELERY_MAY_LOSE = 3
_CALLS: dict[str, Callable[[str], Awaitable[str]]] = {
    SOLO: calls.solo,
    WORKER: calls.worker,
    LEAD: calls.lead,
}


class Way(Protocol):
    """A floor or a door."""

    def take(self, workload: Workload) -> float:
        """Do the workload once, check that it succeeded, and return how many seconds it took."""
        ...


class AsyncioFloor:
    """The same model and tool calls on one loop, nothing else."""

    def take(self, workload: Workload) -> float:
        """See ``Way``."""
        return aio.run(self._timed(workload))

    async def _timed(self, workload: Workload) -> float:
        began = time.perf_counter()
        if workload.messages > 1:
            text = await calls.chat(workload.task, workload.messages)
        else:
            text = await _CALLS[workload.agent](workload.task)
        seconds = time.perf_counter() - began
        check(text)
        return seconds


class CeleryFloor:
    """The same calls as Celery tasks (``celery_app``); its worker is running.

    Attributes:
        lost: Results that never came, about one in 10,000 here: nothing is durable on this path.
    """

    def __init__(self) -> None:
        self.lost = 0

    def take(self, workload: Workload) -> float:
        """See ``Way``."""
        began = time.perf_counter()
        try:
            text = self._asked(workload)
        except CeleryTimeoutError:
            self.lost += 1
            if self.lost > CELERY_MAY_LOSE:
                raise
            return self.take(workload)
        seconds = time.perf_counter() - began
        check(text if isinstance(text, str) else text[-1]["text"])
        return seconds

    def _asked(self, workload: Workload) -> str | list[dict[str, str]]:
        answer: str | list[dict[str, str]] = []
        if workload.messages == 1:
            answer = self._canvas(workload).apply_async().get(timeout=CELERY_SECONDS)
        else:
            for _ in range(workload.messages):
                said = celery_app.say.s(answer, workload.task).apply_async()
                answer = said.get(timeout=CELERY_SECONDS)
        return answer

    @staticmethod
    def _canvas(workload: Workload) -> celery_app.Canvas:
        if workload.agent == SOLO:
            return celery_app.solo_canvas(workload.task)
        if workload.agent == WORKER:
            return celery_app.worker_canvas(workload.task)
        first, _ = json.JSONDecoder().raw_decode(workload.task.partition(": ")[2])
        return celery_app.lead_canvas(workload.task, first["task"])
