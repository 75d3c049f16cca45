"""Everything that single runs need standing: model server, agents, workers, floors and doors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psutil
from django.conf import settings

from heartbit_site.base import aio
from tests.bench import calls, celery_app, workspace
from tests.bench.bare_model import BareModel
from tests.bench.doors import Door, doors
from tests.bench.floors import AsyncioFloor, CeleryFloor
from tests.bench.toolbox.agent_tools import APP
from tests.bench.workloads import MODEL
from tests.fleet import WireServer, Worker
from tests.server_process import ROOT

if TYPE_CHECKING:
    from tests.bench.floors import Way
    from tests.bench.workloads import Workload

QUEUE = "bench"
FLOOR_SLOTS = 4  # W4 has three tasks side by side
MODEL_ALONE = "the model alone"


class Rig:
    """Starts everything, and ends it by its own ids.

    Attributes:
        floors: The floors by name, and the model server itself.
        doors: All doors, open.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._before = dict(os.environ)
        self.floors: dict[str, Way] = {}
        self.doors: list[Door] = []
        self.celery = CeleryFloor()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._restore)
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.wire = stack.enter_context(WireServer())
            os.environ.update(
                OPENAI_BASE_URL=self.wire.url,
                OPENAI_API_KEY="bench",
                HEARTBIT_MODEL=MODEL,
                HEARTBIT_EXTRA_APPS=APP,
                BENCH_REDIS_URL=settings.REDIS_URL,
            )
            bench = workspace.create(queue=QUEUE)
            self._worker = stack.enter_context(Worker(queues=QUEUE))
            celery_app.connect(settings.REDIS_URL)
            stack.enter_context(FloorWorker(directory / "floor.log"))
            stack.callback(lambda: aio.run(calls.close()))
            self.floors = {
                MODEL_ALONE: stack.enter_context(BareModel(self.wire.url)),
                "bare asyncio": AsyncioFloor(),
                "bare Celery": self.celery,
            }
            self.doors = [stack.enter_context(door(bench)) for door in doors()]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    def _restore(self) -> None:
        os.environ.clear()
        os.environ.update(self._before)

    def ways(self, workload: Workload) -> dict[str, Way]:
        """Everything that the workload is done by, by name."""
        return self.floors | {door.name: door for door in self.doors if door.takes(workload)}

    def processes(self, door: Door) -> list[psutil.Process]:
        """Where a door's runs are executed: its own processes first, then the worker."""
        worker = [psutil.Process(self._worker.pid)] if door.floor == "bare Celery" else []
        return [*door.processes, *worker]


class FloorWorker:
    """A Celery worker as it comes, for the floor: its default pool, kombu's own channel."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "celery", "-A", "tests.bench.celery_app", "worker"]
        command += ["-P", "prefork", "-c", str(FLOOR_SLOTS), "-Q", celery_app.QUEUE]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        environment = dict(os.environ)
        del environment["DJANGO_SETTINGS_MODULE"]  # plain Celery, without its Django part
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, env=environment, cwd=ROOT, stdout=log, stderr=log
            )
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        if error is not None:
            sys.stderr.write(f"--- floor worker\n{self._log.read_text()[-4000:]}\n")
