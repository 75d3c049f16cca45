"""Another installation beside the one under test: its own database, broker, folders and keys.

::

    with elsewhere(heartbit, directory) as there:
        there("restore", str(file))
        with there.worker("agents"):
            assert there.row("SELECT status FROM agents_run WHERE id = %s", run) == ("succeeded",)
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier
from redis import Redis

from heartbit_site.embedded.state import StateDirectory
from tests import prepared
from tests.command import HEARTBIT, ROOT, Ended
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Of the sixteen of a Valkey server, the last, which no other test uses.
BROKER: Final = 15


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Such an installation.

    Attributes:
        directory: Its state directory.
        environment: Variables of its processes.
    """

    directory: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str, said: str = "") -> Ended:
        """Run a command of it to its end, with that as its standard input.

        In pytest it is a fork (``tests.prepared``): half a dozen commands share their imports.
        """
        if prepared.forks:
            started = prepared.shared().converse(arguments, self.environment, said=said)
            out, err = started.communicate(timeout=120)
            return Ended(started.wait(), out, err)
        ended = subprocess.run(
            [HEARTBIT, *arguments],
            env=self.environment,
            cwd=ROOT,
            text=True,
            capture_output=True,
            input=said,
            timeout=120,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    @property
    def database_url(self) -> str:
        """Its database."""
        return self.environment.get("DATABASE_URL") or StateDirectory(self.directory).database_url

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask its database."""
        with psycopg.connect(self.database_url) as session:
            return session.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...]:
        """Ask its database for one row."""
        (found,) = self.rows(query, *values)
        return found

    @contextmanager
    def worker(self, queues: str) -> Iterator[None]:
        """A worker of it, which is registered."""
        alive = "SELECT count(*) FROM agents_workerheartbeat WHERE left_at IS NULL"
        with self.process("serve", "--queues", queues, "--concurrency", "20"):
            wait_until(lambda: self.row(alive)[0], seconds=60, what="a worker of it")
            yield

    @contextmanager
    def process(self, *arguments: str) -> Iterator[None]:
        """A command of it that lasts, until the block's end."""
        log = self.directory / f"{arguments[0]}.log"
        with log.open("ab") as file:
            process = prepared.start(prepared.HEARTBIT, arguments, self.environment, file.fileno())
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)


@contextmanager
def other_machine(**environment: str) -> Iterator[Elsewhere]:
    """An installation with servers of its own, none of which has been started yet.

    Args:
        environment: More variables.
    """
    # Short for unix sockets, and passable for the user that root's servers run as.
    parent = Path(tempfile.mkdtemp(prefix="hbe", dir="/tmp"))
    parent.chmod(0o755)
    there = Elsewhere(
        parent / "s",
        {**os.environ, "HEARTBIT_STATE_DIR": str(parent / "s"), **environment},
    )
    try:
        yield there
    finally:
        there("down", "--force")
        shutil.rmtree(parent, ignore_errors=True)


@contextmanager
def elsewhere(directory: Path, **environment: str) -> Iterator[Elsewhere]:
    """An installation whose database is empty and whose broker knows nothing.

    Args:
        directory: Its state directory, which need not exist.
        environment: More variables.
    """
    state = settings.ENVIRONMENT.state
    name = f"elsewhere_{secrets.token_hex(4)}"
    directory.mkdir(parents=True, exist_ok=True)
    options = conninfo_to_dict(state.database_url)
    broker = state.redis_url.replace("db=0", f"db={BROKER}")
    with psycopg.connect(state.database_url, autocommit=True) as session:
        session.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            with Redis.from_url(broker) as valkey:
                valkey.flushdb()
            place = "&".join(f"{key}={options[key]}" for key in ("host", "port", "user"))
            yield Elsewhere(
                directory,
                {
                    **os.environ,
                    "DATABASE_URL": f"postgresql:///{name}?{place}",
                    "REDIS_URL": broker,
                    "HEARTBIT_STATE_DIR": str(directory),
                    **environment,
                },
            )
        finally:
            drop = SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name))
            session.execute(drop)
