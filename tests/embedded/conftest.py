"""Real servers in a short-lived state directory of their own."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
from tests.environment import STATE
from tests.pace import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heartbit_site.embedded.state import ServiceName

ROOT = Path(__file__).parents[2]

USER_PROGRAM = """
import sys
from heartbit_site.embedded import client
client.ensure(sys.argv[1:])
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def passable_directory() -> Iterator[Path]:
    """Make a directory that every user may pass through, with a path short enough for sockets."""
    path = Path(tempfile.mkdtemp(prefix="hb", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextmanager
def stopped_at_the_end(state: StateDirectory, patch: pytest.MonkeyPatch) -> Iterator[None]:
    shared = StateDirectory(STATE / "s")
    is_used = client.status(shared).supervisor is not None
    patch.setenv("HEARTBIT_STATE_DIR", str(state.path))
    yield
    client.release()
    client.stop(state)
    if is_used:  # by other tests of this process, whose use was released as well
        client.ensure((), shared)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory of the test's own."""
    with passable_directory() as path:
        yield path


@pytest.fixture
def fresh_state(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateDirectory]:
    """A state directory that does not exist yet, stopped at the end."""
    state = StateDirectory(short_path / "s")
    with stopped_at_the_end(state, monkeypatch):
        yield state


@pytest.fixture(scope="session")
def lasting_state() -> Iterator[StateDirectory]:
    with passable_directory() as path:
        yield StateDirectory(path / "s")


@pytest.fixture
def state(
    lasting_state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StateDirectory]:
    """A state directory where other tests may have left data, stopped at the end.

    It saves the second that a new cluster takes.
    """
    with stopped_at_the_end(lasting_state, monkeypatch):
        yield lasting_state


@pytest.fixture
def start_user() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start another process that uses services until its input closes."""
    users: list[subprocess.Popen[str]] = []

    def start(*services: str) -> subprocess.Popen[str]:
        user = subprocess.Popen(
            [sys.executable, "-c", USER_PROGRAM, *services],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
        )
        users.append(user)
        return user

    yield start
    for user in users:
        user.kill()
        user.communicate()


def wait_until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Poll until a condition holds; fail after a deadline."""
    patience = Patience(seconds)
    while not condition():
        assert patience, "the condition never held"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Say whether a process (all its threads; a zombie does not count) runs."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([process], [], [], 0)[0]
    finally:
        os.close(process)


def pids(state: StateDirectory) -> dict[ServiceName, int]:
    """Return the process ids of the servers that run."""
    return {name: s.pid for name, s in client.status(state).services.items() if s.pid}
