"""The real command in real processes, on the installation under test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.prepared import Prepared

ROOT = Path(__file__).parents[2]
HEARTBIT = str(Path(sys.executable).parent / "heartbit")
NO_MODEL = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output, which is one JSON object."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its standard output, which is one JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """Runs `heartbit` as a user would.

    The first use of each command, at home and afar, is a process from nothing; the others that are
    waited for are forks of a prepared one. What is started, and what sits at a terminal, never is.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._used: set[tuple[str, bool, bool]] = set()

    def __call__(
        self, *arguments: str, env: dict[str, str] | None = None, cwd: Path = ROOT
    ) -> Ended:
        """Run it to its end."""
        # With a server's address, and for its help, a command is nearly another program.
        kind = arguments[0], env is None, "--help" in arguments
        # A running Python does not look at PYTHON... again.
        if kind not in self._used or any(name.startswith("PYTHON") for name in env or ()):
            self._used.add(kind)
            return self.end(self.start(*arguments, env=env, cwd=cwd))
        environment = {**os.environ, **(env or {})}
        return Ended(*self._prepared.run(arguments, environment, cwd, seconds=60))

    def start(
        self, *arguments: str, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start it; `end` waits for it."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        standard: dict[str, Any] = {"cwd": ROOT, **pipes}
        return subprocess.Popen(
            [HEARTBIT, *arguments], env=environment, text=True, **(standard | options)
        )

    def end(self, process: subprocess.Popen[str], *, seconds: float = 60) -> Ended:
        """Wait for its end; it is killed if there is none."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return Ended(process.returncode, out, err)


@pytest.fixture(scope="session")
def heartbit(prepared: Prepared) -> Command:
    """`heartbit(...)`, with the fake provider as its model."""
    return Command(prepared)


@pytest.fixture
def runs(database: None) -> Callable[[], int]:
    """How many runs there are."""
    return Run.objects.count
