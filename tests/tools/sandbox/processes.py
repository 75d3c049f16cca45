"""What is left of programs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

#: What an operator allowed beside the public internet, where these tests serve.
LOOPBACK = "localhost:*"
LATE = 5.0  # seconds that a starved machine may take beside a program's own limit


@dataclass(frozen=True, slots=True)
class RunnerProcess:
    """A runner's address, key and process."""

    url: str
    key: str
    pid: int


def of_users(users: Container[int]) -> int:
    """The number of processes of some users."""
    found = 0
    for process in Path("/proc").iterdir():
        try:
            found += process.name.isdigit() and process.stat().st_uid in users
        except OSError:  # it has ended
            continue
    return found


def below(pid: int) -> int:
    """The number of processes that a process started, and of theirs."""
    children: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, file.read_text().split())
        except OSError:
            continue
    return len(children) + sum(map(below, children))


def wait_for(condition: Callable[[], bool], seconds: float = LATE) -> None:
    """Return once it is true."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.02)
