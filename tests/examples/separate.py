"""An installation of an example's own: its database, its settings, its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import psycopg

from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
from tests import clusters
from tests.command import HEARTBIT, ROOT
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS: Final = Path(sys.executable).parent


class Separate:
    """Real processes in an installation that no other test has.

    Args:
        directory: Its state directory.
        variables: Environment variables that the example sets.
    """

    def __init__(self, directory: Path, variables: dict[str, str]) -> None:
        self.state = StateDirectory(directory)
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "HEARTBIT_STATE_DIR": str(directory),
            "HEARTBIT_MODEL": "openai:fake",
            "HEARTBIT_EMBEDDED_IDLE_SECONDS": "120",
            **variables,
        }
        self._started: list[subprocess.Popen[bytes]] = []

    def heartbit(self, *arguments: str, is_refused: bool = False) -> str:
        """Run a command to its end, and return what it says."""
        ended = self._ended(HEARTBIT, *arguments)
        assert (ended.returncode != 0) is is_refused, ended
        return ended.stderr if is_refused else ended.stdout

    def shell(self, program: str) -> None:
        """Run Python with the installation's apps."""
        ended = self._ended(sys.executable, "-c", f"import django; django.setup()\n{program}")
        assert ended.returncode == 0, ended

    def _ended(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={"DJANGO_SETTINGS_MODULE": "heartbit_site.settings", **self.environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def start(self, program: str, *arguments: str) -> Path:
        """Start a program of the virtual environment; return its log."""
        log = self.state.path.parent / f"{program}.log"
        with log.open("wb") as file:
            started = subprocess.Popen(
                [PROGRAMS / program, *arguments],
                env=self.environment,
                cwd=ROOT,
                stdout=file,
                stderr=file,
            )
        self._started.append(started)
        return log

    def up(self) -> None:
        """Start everything, and wait for the web process."""
        log = self.start("heartbit", "up", "--port", str(self.port))

        def answers() -> bool:
            assert self._started[-1].poll() is None, log.read_text()[-4000:]
            try:
                return httpx.get(f"{self.url}/login/").status_code == 200
            except httpx.TransportError:
                return False

        wait_until(answers, seconds=240, what=f"the web process, see {log}")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows that a statement finds."""
        with psycopg.connect(self.state.database_url) as connection:
            return connection.execute(sql.encode()).fetchall()

    def close(self) -> None:
        """End the processes, the latest first, and the servers."""
        for process in reversed(self._started):
            process.terminate()
            process.wait(timeout=120)
        client.stop(self.state)


@contextmanager
def separate(variables: dict[str, str], *, is_migrated: bool = True) -> Iterator[Separate]:
    """Make an installation with the example's variables; nothing of it stays.

    Args:
        variables: Environment variables.
        is_migrated: True to begin with the tables of Heartbit's own settings.
    """
    base = Path(tempfile.mkdtemp(prefix="hbe", dir="/tmp"))  # short: sockets are in it
    base.chmod(0o755)
    installation = Separate(base / "s", variables)
    if is_migrated:
        clusters.provide(installation.state)
    try:
        yield installation
    except BaseException:
        with contextlib.suppress(psycopg.Error):
            runs = installation.rows("SELECT agent, task, status, error FROM agents_run")
            sys.stderr.write(f"--- runs: {runs}\n")
        for log in base.glob("*.log"):
            sys.stderr.write(f"--- {log}\n{log.read_text()[-4000:]}\n")
        raise
    finally:
        installation.close()
        shutil.rmtree(base, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
