"""Keeps worker processes running while somebody kills them."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from agents.choices import RunStatus
from agents.models import Run, RunEvent, WorkerHeartbeat
from tests.chaos.records import Kill
from tests.fleet import Worker

if TYPE_CHECKING:
    import random
    import signal
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from tests.prepared import Process

COMMIT_SECONDS: Final = 0.5  # a claim takes much less


@dataclass(slots=True)
class _Slot:
    """A place for one worker process at a time."""

    process: Process
    killed: bool = False


class Supervisor(Worker):
    """Some ``heartbit serve`` processes; whoever dies is started again by ``tend``.

    Attributes:
        count: How many there are to be.
        own_exits: How many ended without having been killed.
    """

    def __init__(
        self,
        count: int,
        *,
        queue: str,
        log: Path,
        environment: dict[str, str],
        concurrency: int = 100,
    ) -> None:
        super().__init__(queues=queue, environment=environment, concurrency=concurrency)
        self.log.unlink()
        self.log = log
        self.own_exits = 0
        self.count = count
        self._slots: list[_Slot] = []

    def __enter__(self) -> Self:
        self._slots = [_Slot(self._spawn()) for _ in range(self.count)]
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.process.terminate()
        for slot in self._slots:
            try:
                slot.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                slot.process.kill()
                slot.process.wait()

    def tend(self) -> list[int]:
        """Start again whoever has ended; the process ids of those that nobody here had killed."""
        ended = []
        for slot in self._slots:
            if slot.process.poll() is None:
                continue
            if not slot.killed:
                ended.append(slot.process.pid)
            slot.process, slot.killed = self._spawn(), False
        self.own_exits += len(ended)
        return ended

    def signal(self, number: signal.Signals) -> None:
        """Send each of them a signal."""
        for slot in self._slots:
            if slot.process.poll() is None:
                slot.process.send_signal(number)

    def pids(self) -> list[int]:
        """Of those that live."""
        return [slot.process.pid for slot in self._slots if slot.process.poll() is None]

    def registered(self) -> int:
        """How many may claim runs now."""
        return len(self._rows())

    def names(self) -> frozenset[str]:
        """What those are called in journals."""
        rows = WorkerHeartbeat.objects.filter(pk__in=self._rows().values())
        return frozenset(rows.values_list("name", flat=True))

    def kill_one(self, choice: random.Random, among: QuerySet[Run] | None = None) -> Kill | None:
        """SIGKILL a random one of the workers that hold runs; None when none does.

        Args:
            choice: The dice.
            among: Runs one of which it has to hold; None: any.
        """
        rows = self._rows()
        runs = Run.objects.all() if among is None else among
        held_now = runs.filter(status=RunStatus.RUNNING, worker__in=rows.values())
        holding = set(held_now.values_list("worker", flat=True))
        victims = [index for index, worker_id in sorted(rows.items()) if worker_id in holding]
        return self._kill(choice.choice(victims), rows) if victims else None

    def kill_all(self) -> list[Kill]:
        """SIGKILL every worker."""
        rows = self._rows()
        return [self._kill(index, rows) for index in sorted(rows)]

    def kill_parent(self, choice: random.Random, script: str) -> Kill | None:
        """SIGKILL a random one of the workers with a child that runs a script; None: none has."""
        rows, parents = self._rows(), _parents_of(script)
        victims = [index for index in sorted(rows) if self._slots[index].process.pid in parents]
        return self._kill(choice.choice(victims), rows) if victims else None

    def _kill(self, index: int, rows: dict[int, int]) -> Kill:
        slot = self._slots[index]
        at = time.time()
        slot.killed = True
        slot.process.kill()
        slot.process.wait()
        held = Run.objects.filter(status=RunStatus.RUNNING, worker=rows[index])
        return Kill(
            at,
            worker=f"{index}:{slot.process.pid}",
            held=tuple(map(str, held.values_list("pk", flat=True))),
        )

    def held_by(self, index: int) -> tuple[str, ...]:
        """The runs that a worker holds."""
        held = Run.objects.filter(status=RunStatus.RUNNING, worker=self._rows().get(index, 0))
        return tuple(map(str, held.values_list("pk", flat=True)))

    def restart_one(self, index: int) -> tuple[Kill, float]:
        """SIGTERM a worker, wait for its end, and start its successor.

        Returns:
            What it held then or took before it heard, and the seconds it took to leave.
        """
        at = time.time()
        slot, name, ids = self._slots[index], self._name(index), self.held_by(index)
        slot.killed = True
        slot.process.terminate()
        slot.process.wait(timeout=60)
        took = time.time() - at
        slot.process, slot.killed = self._spawn(), False
        worker = f"{index}:{slot.process.pid}"
        # A claim has the time of its beginning, and is seen only once it is committed.
        held = tuple(dict.fromkeys((*ids, *_taken_by(name, since=at - COMMIT_SECONDS))))
        return Kill(at, worker=worker, held=held, until=at + took), took

    def _name(self, index: int) -> str:
        """As a worker calls itself in the journal."""
        row = WorkerHeartbeat.objects.filter(pk=self._rows().get(index, 0))
        return row.values_list("name", flat=True).first() or ""

    def _rows(self) -> dict[int, int]:
        """The heartbeat row of each living worker, by its slot."""
        rows = {
            int(name.rpartition(":")[2]): worker_id
            for worker_id, name in WorkerHeartbeat.objects.filter(left_at__isnull=True).values_list(
                "pk", "name"
            )
        }
        return {
            index: rows[slot.process.pid]
            for index, slot in enumerate(self._slots)
            if slot.process.poll() is None and slot.process.pid in rows
        }


def _parents_of(script: str) -> set[int]:
    """Return the process ids of the parents of all processes that run a script."""
    parents = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if script in (process / "cmdline").read_text():
                # The program's name may hold spaces and ends with a bracket; then state and parent.
                stat = (process / "stat").read_text()
                parents.add(int(stat.rpartition(")")[2].split()[1]))
        except OSError:  # it has ended a moment ago
            continue
    return parents


def _taken_by(worker: str, *, since: float) -> Iterator[str]:
    """The runs that a worker has claimed since then."""
    events = RunEvent.objects.filter(
        type="run.started", at__gte=datetime.fromtimestamp(since, UTC), payload__worker=worker
    )
    return map(str, events.values_list("run_id", flat=True))
