"""Runs by the hundred: submitted from several threads, at once, at a pace, or in a closed loop.

Whether they have ended is asked of the database, cheaply and seldom; when they did is what the
rows say, not when this process noticed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from django.db import connection

from heartbit_site.base.orm import OrmExecutor
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from datetime import datetime
    from uuid import UUID

    from heartbit_site.base.models import Workspace

THREADS = 4
POLL_SECONDS = 0.1
LOOP_POLL_SECONDS = 0.02

_UNFINISHED = "SELECT id FROM agents_run WHERE id = ANY (%s) AND finished_at IS NULL"
_TIMES = """
    SELECT id, status, created_at, finished_at FROM agents_run WHERE id = ANY (%s)
    ORDER BY created_at
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What an agent is asked to do."""

    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class Times:
    """When a run was accepted and when it ended, by the database's clock."""

    id: UUID
    status: str
    created_at: datetime
    finished_at: datetime | None

    @property
    def seconds(self) -> float:
        """From its acceptance to its end; NaN while it has none."""
        if self.finished_at is None:
            return float("nan")
        return (self.finished_at - self.created_at).total_seconds()


class Flow:
    """Submits for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __enter__(self) -> Self:
        self._executor = OrmExecutor(THREADS, name="bench-submit")
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()

    def at_once(self, jobs: Sequence[Job]) -> list[UUID]:
        """Submit all of them, as fast as the threads can."""
        return [future.result() for future in [self._submit(job) for job in jobs]]

    def at_pace(
        self, job: Job, *, count: int, seconds: float, watch: Callable[[], None]
    ) -> list[UUID]:
        """Submit evenly over ``seconds``; ``watch`` is called about once a second."""
        began = time.monotonic()
        looked = began
        futures: list[Future[UUID]] = []
        while len(futures) < count:
            now = time.monotonic()
            due = min(count, int((now - began) / seconds * count) + 1)
            futures += [self._submit(job) for _ in range(due - len(futures))]
            if now - looked >= 1:
                watch()
                looked = now
            time.sleep(seconds / count / 2)
        return [future.result() for future in futures]

    def loop(self, job: Job, *, at_once: int, seconds: float) -> list[UUID]:
        """Keep so many unfinished for so long; all that were submitted, some not ended yet."""
        over = time.monotonic() + seconds
        ids = self.at_once([job] * at_once)
        open_ids = ids
        while time.monotonic() < over:
            time.sleep(LOOP_POLL_SECONDS)
            open_ids = unfinished(open_ids)
            fresh = self.at_once([job] * (at_once - len(open_ids)))
            open_ids += fresh
            ids = ids + fresh
        return ids

    def _submit(self, job: Job) -> Future[UUID]:
        return self._executor.submit(start_run, self._workspace, job.task, agent=job.agent)


def unfinished(ids: Sequence[UUID]) -> list[UUID]:
    """Which of these have not ended."""
    with connection.cursor() as cursor:
        cursor.execute(_UNFINISHED, [list(ids)])
        return [row[0] for row in cursor.fetchall()]


def wait_ended(
    ids: Sequence[UUID], *, seconds: float, until: int = 0, watch: Callable[[], None] | None = None
) -> int:
    """Wait until at most ``until`` of these are unfinished; how many are, also when it took longer.

    ``watch`` is called about ten times a second.
    """
    deadline = time.monotonic() + seconds
    left = unfinished(ids)
    while len(left) > until and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        if watch is not None:
            watch()
        left = unfinished(left)
    return len(left)


def times(ids: Sequence[UUID]) -> list[Times]:
    """These runs, in the order of their acceptance."""
    with connection.cursor() as cursor:
        cursor.execute(_TIMES, [list(ids)])
        return [Times(*row) for row in cursor.fetchall()]
