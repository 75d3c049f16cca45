"""What the sandboxes' tests attack, and a runner."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.server_process import ROOT
from tests.tools.sandbox.processes import LOOPBACK, RunnerProcess, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def host(tmp_path: Path) -> Iterator[dict[str, object]]:
    """Things of the host to reach for, which answer whoever gets there."""
    secret = tmp_path / "secret"
    secret.write_text("canary")
    secret.chmod(0o644)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as path,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        place = f"/tmp/{secrets.token_hex(8)}.sock"  # noqa: S108  as short as its path has to be
        path.bind(place)
        path.listen()
        abstract.bind(f"\0{place}")
        abstract.listen()
        yield {"port": server.getsockname()[1], "secret": secret, "socket": place}
        Path(place).unlink()


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """A runner, in a process of its own, with no environment but its key."""
    key = secrets.token_hex(32)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tools.sandbox.runner", "--port", str(port), "--slots", "4"]
    environment = {
        "PATH": os.environ["PATH"],
        "HEARTBIT_SANDBOX_KEY": key,
        "HEARTBIT_HTTP_ALLOWLIST": LOOPBACK,
    }
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, "the runner has ended"
        try:
            return httpx.get(url).status_code == 401
        except httpx.TransportError:
            return False

    try:
        wait_for(answers, 30)
        yield RunnerProcess(url, key, process.pid)
    finally:
        process.terminate()
        process.wait(30)
