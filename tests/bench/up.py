"""UP: the memory of `heartbit up` as a whole, PostgreSQL and Valkey included, before its first run.

Proportional set size: a page that several processes share counts once, split among them. So the
figure is what the machine would have back if all of them ended. It is an installation of its own,
for servers that have kept other measurements' rows have their pages in memory.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil

from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
from tests import clusters
from tests.bench import costs
from tests.bench.figures import Figure, Row
from tests.bench.said import say
from tests.embedded.conftest import passable_directory
from tests.fleet import wait_until
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.plan import Plan

PSS_MB = 330.0
START_SECONDS = 120
END_SECONDS = 60
#: Until every part has connected, and Beat has sent what was due.
SETTLED_SECONDS = 10


def measure(plan: Plan) -> Row:
    """Its row; the size is the same whatever the plan."""
    say("UP: worker, beat, web and servers at rest")
    with _installation() as state, _up(state) as process:
        time.sleep(SETTLED_SECONDS)
        sizes: defaultdict[str, float] = defaultdict(float, {"heartbit up": _pss_mb(process)})
        for child in process.children():
            sizes[child.cmdline()[1]] += _pss_mb(child)
        servers = [*costs.server_processes(state.path), _supervisor(state)]
        # Those of the servers that are the supervisor's children are counted once.
        for part in {part for server in servers for part in _tree(server)}:
            with suppress(
                psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError
            ):  # it has left
                sizes[part.name()] += _pss_mb(part)
    return Row(
        "UP",
        "durable",
        (Figure("PSS of all processes", sum(sizes.values()), "MB", PSS_MB),),
        {"pss_mb_by_process": {name: round(size, 1) for name, size in sizes.items()}},
    )


@contextmanager
def _installation() -> Iterator[StateDirectory]:
    with passable_directory() as place:
        state = StateDirectory(place / "s")
        clusters.provide(state, safe=True)
        try:
            yield state
        finally:
            client.stop(state)


@contextmanager
def _up(state: StateDirectory) -> Iterator[psutil.Process]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    heartbit = str(Path(sys.executable).with_name("heartbit"))
    command = [heartbit, "up", "--port", str(port)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "HEARTBIT_STATE_DIR": str(state.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _answers(port), seconds=START_SECONDS, what="the login page")
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(END_SECONDS)


def _answers(port: int) -> bool:
    try:
        page = httpx.get(f"http://127.0.0.1:{port}/login/", trust_env=False, timeout=30)
    except httpx.TransportError:
        return False
    return page.status_code == httpx.codes.OK


def _supervisor(state: StateDirectory) -> psutil.Process:
    command = ["heartbit_site.embedded.supervisor", str(state.path)]
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"][-2:] == command:
            return process
    raise RuntimeError("the supervisor of the installation's servers was not found")


def _tree(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _pss_mb(process: psutil.Process) -> float:
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {process.pid} does not say how much memory it has")
