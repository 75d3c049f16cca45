"""What a run costs beside time: processor, memory, transactions."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from django.conf import settings
from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: A backend that turns idle publishes its counters at the latest after this time (PostgreSQL:
#: PGSTAT_IDLE_INTERVAL).
STATISTICS_SECONDS = 10.5
SERVERS = ("postgres", "valkey-server")


def server_processes(installation: Path | None = None) -> list[psutil.Process]:
    """Return the database's and the broker's top processes.

    Args:
        installation: Its state directory; None: of this process's installation.

    Raises:
        RuntimeError: One of them was not found.
    """
    state = str(installation or settings.ENVIRONMENT.state.path)
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        named = process.info["name"] in SERVERS
        if named and any(state in part for part in process.info["cmdline"] or ()):
            found.append(process)
    if {process.info["name"] for process in found} != set(SERVERS):
        raise RuntimeError("the servers of this installation were not found")
    return found


class Meter:
    """Processor time of the workers and the servers, by name, between two moments.

    The bench's own time is not in it: what it spends on submitting is asked for separately, and
    what it spends on looking is nobody's cost. The model server is a stranger's machine.
    """

    def __init__(self, workers: Sequence[psutil.Process]) -> None:
        self._groups = {process.info["name"]: [process] for process in server_processes()}
        self._groups["workers"] = list(workers)
        self._began = self._now()

    def seconds(self) -> dict[str, float]:
        """Processor seconds since the meter was made."""
        now = self._now()
        return {name: now[name] - self._began[name] for name in now}

    def _now(self) -> dict[str, float]:
        return {name: cpu_seconds(processes) for name, processes in self._groups.items()}


def cpu_seconds(roots: Iterable[psutil.Process]) -> float:
    """Processor time of these processes and all below them, ended children included.

    Of this process alone: those below it are others' workers and servers.
    """
    total = 0.0
    for root in roots:
        spent = root.cpu_times()
        if root.pid == os.getpid():
            total += spent.user + spent.system
            continue
        total += spent.user + spent.system + spent.children_user + spent.children_system
        for child in root.children(recursive=True):
            try:
                spent = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += spent.user + spent.system
    return total


def cpu_of_ended() -> float:
    """Processor time of this process's children that have ended, such as commands."""
    spent = os.times()
    return spent.children_user + spent.children_system


def rss_mb(pid: int) -> float:
    """Resident memory of one process."""
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def peak_rss_mb(pid: int) -> float:
    """The most memory that was resident in one process since it began."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} does not say how much memory it had")


def committed() -> int:
    """Committed transactions of the database so far; waits until all sessions have reported."""
    time.sleep(STATISTICS_SECONDS)
    return _number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")


def write_marker() -> int:
    """Transaction ids given out so far: only transactions that write take one."""
    return _number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")


def durability() -> dict[str, str]:
    """The settings that decide what a commit means here."""
    shown = {}
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        with connection.cursor() as cursor:
            cursor.execute(f"SHOW {name}")
            shown[name] = str(cursor.fetchone()[0])
    return shown


def commit_ms(*, times: int = 50) -> float:
    """Median time of a transaction with one small row: what the disk asks for a commit."""
    taken = []
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS bench_commit (at timestamptz)")
        for _ in range(times):
            began = time.perf_counter()
            cursor.execute("INSERT INTO bench_commit VALUES (clock_timestamp())")
            taken.append(time.perf_counter() - began)
        cursor.execute("DROP TABLE bench_commit")
    return sorted(taken)[times // 2] * 1000


def _number(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])
