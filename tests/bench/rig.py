"""Everything a measurement needs standing: model server, agents, workers, and the four paths."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Self

import psutil
from django.conf import settings

from heartbit_site.base import aio
from tests.bench import calls, celery_app, workspace
from tests.bench.bare_model import BareModel
from tests.bench.paths import AsyncioFloor, CeleryFloor, Durable, InProcess
from tests.bench.workloads import MODEL
from tests.fleet import WireServer, Worker
from tests.server_process import ROOT

QUEUE = "bench"
FLOOR_SLOTS = 4  # W4 has three tasks side by side


@dataclass(slots=True)
class Paths:
    """The four ways, ready to be taken, and the model server itself."""

    asyncio: AsyncioFloor
    celery: CeleryFloor
    durable: Durable
    in_process: InProcess
    model: BareModel


class Rig:
    """Starts everything, and ends it by its own ids."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._before = dict(os.environ)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._restore)
            directory = FilePath(stack.enter_context(tempfile.TemporaryDirectory()))
            self.wire = stack.enter_context(WireServer())
            os.environ.update(
                OPENAI_BASE_URL=self.wire.url,
                OPENAI_API_KEY="bench",
                HEARTBIT_MODEL=MODEL,
                BENCH_REDIS_URL=settings.REDIS_URL,
            )
            bench = workspace.create(queue=QUEUE)
            self.worker = stack.enter_context(Worker(queues=QUEUE))
            celery_app.connect(settings.REDIS_URL)
            stack.enter_context(FloorWorker(directory / "floor.log"))
            stack.callback(lambda: aio.run(calls.close()))
            in_process = InProcess(bench)
            stack.callback(in_process.close)
            durable = Durable(bench)
            stack.callback(durable.close)
            model = stack.enter_context(BareModel(self.wire.url))
            self.paths = Paths(AsyncioFloor(), CeleryFloor(), durable, in_process, model)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    def _restore(self) -> None:
        os.environ.clear()
        os.environ.update(self._before)

    @property
    def worker_process(self) -> psutil.Process:
        """The worker that serves the durable path."""
        return psutil.Process(self.worker.pid)


class FloorWorker:
    """A Celery worker as it comes, for the floor: its default pool, kombu's own channel."""

    def __init__(self, log: FilePath) -> None:
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
