"""`heartbit web` and `heartbit beat`, each in a process of its own."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from heartbit_site.cli.main import COMMANDS
from heartbit_site.cli.serving import all_in_one
from heartbit_site.cli.terminal.errors import CANNOT_START
from tests.fleet import wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.command import Command

ADDRESS = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@contextmanager
def started(heartbit: Command, log: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command, logging to a file; killed if it is still there at the end."""
    with log.open("w") as output:
        process = heartbit.spawn(*arguments, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=10)


def saying(
    process: subprocess.Popen[str], log: Path, pattern: str
) -> Callable[[], re.Match[str] | None]:
    def look() -> re.Match[str] | None:
        assert process.poll() is None, log.read_text()
        return re.search(pattern, log.read_text())

    return look


def test_web_serves_the_pages_until_it_is_ended(
    heartbit: Command, database: None, log: Path
) -> None:
    with started(heartbit, log, "web", "--port", "0", "--grace", "1") as process:
        found = wait_until(saying(process, log, ADDRESS.pattern), seconds=40, what="its address")
        assert httpx.get(f"{found[1]}/login/", trust_env=False, timeout=60).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=90) in {0, -signal.SIGTERM}
    assert "Traceback" not in log.read_text()


def test_web_refuses_a_port_that_is_taken(heartbit: Command, database: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = heartbit("web", "--port", port)
    assert ended.code == CANNOT_START
    assert ended.err.count("\n") == 1
    assert port in ended.err


def test_beat_sends_what_is_due_until_it_is_ended(
    heartbit: Command, database: None, log: Path
) -> None:
    with started(heartbit, log, "beat") as process:
        due = r"Sending due task heartbit-deliver-\w+"
        wait_until(saying(process, log, due), seconds=60, what="a task that was due")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=90) == 0
    assert "Traceback" not in log.read_text()


def test_up_starts_commands_that_can_be_started_alone() -> None:
    parts = all_in_one.parts(port=8000, bind="127.0.0.1", concurrency=5, queues="a,b")
    assert {part.arguments[0] for part in parts} <= set(COMMANDS)
    assert [part.arguments[-2:] for part in parts if part.name == "worker"] == [["-Q", "a,b"]]
