"""The four ways a workload is taken: two floors without Heartbit, and Heartbit's two paths."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Protocol

from celery.exceptions import TimeoutError as CeleryTimeoutError
from django.conf import settings

from agents.actions.post_message import post_message, start_conversation
from agents.actions.start_run import start_run
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_result
from agents.live.valkey import ValkeySubscriber, connect
from agents.runtime.host import LocalHost
from heartbit_site.base import aio
from tests.bench import calls, celery_app
from tests.bench.workloads import LEAD, SOLO, WORKER, Workload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from redis.asyncio import Redis

    from heartbit_site.base.models import Workspace

LOCAL_SLOTS = 100
CELERY_SECONDS = 10
CELERY_MAY_LOSE = 3
_FLOORS: dict[str, Callable[[str], Awaitable[str]]] = {
    SOLO: calls.solo,
    WORKER: calls.worker,
    LEAD: calls.lead,
}


class Path(Protocol):
    """One way; ``take`` does the workload once and says how many seconds it took."""

    def take(self, workload: Workload) -> float:
        """Do it once, and check that it succeeded."""
        ...


class AsyncioFloor:
    """The same model and tool calls on one loop, nothing else."""

    def take(self, workload: Workload) -> float:
        """See ``Path``."""
        return aio.run(self._timed(workload))

    async def _timed(self, workload: Workload) -> float:
        began = time.perf_counter()
        if workload.messages > 1:
            text = await calls.chat(workload.task, workload.messages)
        else:
            text = await _FLOORS[workload.agent](workload.task)
        seconds = time.perf_counter() - began
        _check(text)
        return seconds


class CeleryFloor:
    """The same calls as Celery tasks (``celery_app``); its worker is running.

    Attributes:
        lost: Results that never came, about one in 10,000 here: nothing is durable on this path.
    """

    def __init__(self) -> None:
        self.lost = 0

    def take(self, workload: Workload) -> float:
        """See ``Path``."""
        began = time.perf_counter()
        try:
            text = self._asked(workload)
        except CeleryTimeoutError:
            self.lost += 1
            if self.lost > CELERY_MAY_LOSE:
                raise
            return self.take(workload)
        seconds = time.perf_counter() - began
        _check(text if isinstance(text, str) else text[-1]["text"])
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


class Durable:
    """``start_run`` here, a worker process executes, the result is waited for over Valkey."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._client = aio.run(_client())
        self._source = ValkeySubscriber(self._client)
        self.ids: list[UUID] = []

    def take(self, workload: Workload) -> float:
        """See ``Path``."""
        begin = _starts(self._workspace, workload, Placement.FLEET)
        began = time.perf_counter()
        for _ in range(workload.messages):
            run_id = begin()
            run = aio.run(wait_for_result(run_id, self._source))
            _check(run.output if run.status == RunStatus.SUCCEEDED else None)
            self.ids.append(run_id)
        return time.perf_counter() - began

    def close(self) -> None:
        """Disconnect."""
        aio.run(self._client.aclose())


class InProcess:
    """The same journal and engine in this process (``heartbit run``), without a broker."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._host = aio.run(_started_host())
        self._window = self._host.window
        self.ids: list[UUID] = []

    def take(self, workload: Workload) -> float:
        """See ``Path``."""
        begin = _starts(self._workspace, workload, Placement.LOCAL)
        began = time.perf_counter()
        for _ in range(workload.messages):
            run_id = begin()
            _check(aio.run(self._executed(run_id)))
            self.ids.append(run_id)
        return time.perf_counter() - began

    def close(self) -> None:
        """Stop the host."""
        aio.run(self._host.stop())

    async def _executed(self, run_id: UUID) -> str | None:
        self._host.execute(run_id)
        run = await wait_for_result(run_id, self._window)
        return run.output if run.status == RunStatus.SUCCEEDED else None


def _starts(workspace: Workspace, workload: Workload, home: Placement) -> Callable[[], UUID]:
    """What starts a run of the workload, or the next one of its conversation."""
    task, agent = workload.task, workload.agent
    if workload.messages == 1:
        return lambda: start_run(workspace, task, agent=agent, home=home)
    thread = start_conversation(workspace, agent=agent)
    return lambda: post_message(thread, task, home=home).run_id


async def _client() -> Redis:
    return connect(settings.REDIS_URL)


async def _started_host() -> LocalHost:
    host = LocalHost(slots=LOCAL_SLOTS)
    await host.start()
    return host


def _check(text: str | None) -> None:
    if not text:
        raise RuntimeError("a run under measurement did not succeed: see the worker's log")
