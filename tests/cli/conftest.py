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

    from tests.fleet import WireServer

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
    """Runs `heartbit` as a user would."""

    def __call__(self, *arguments: str, env: dict[str, str] | None = None) -> Ended:
        """Run it to its end."""
        process = self.start(*arguments, env=env)
        return self.end(process)

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


@pytest.fixture
def heartbit(database: None, wire_server: WireServer) -> Command:
    """`heartbit(...)`, with the fake provider as its model."""
    return Command()


@pytest.fixture
def runs(database: None) -> Callable[[], int]:
    """How many runs there are."""
    return Run.objects.count
