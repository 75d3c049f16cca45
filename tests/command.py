"""The real command in real processes, on the installation under test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tests.prepared import Conversing, Prepared

#: A command that was started.
Started: TypeAlias = "subprocess.Popen[str] | Conversing"

ROOT = Path(__file__).parents[1]
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

    The first use of each command, at home and afar, imports all of ours itself, and the very first
    is a process from nothing; all others are forks of one where everything is imported.

    Args:
        prepared: Forks.
        used: A directory in which each command leaves a mark at its first use.
    """

    def __init__(self, prepared: Prepared, used: Path) -> None:
        self._prepared = prepared
        self._used = used

    def __call__(
        self, *arguments: str, env: dict[str, str] | None = None, cwd: Path = ROOT
    ) -> Ended:
        """Run it to its end."""
        # With a server's address a command is nearly another program; all helps are one.
        kind = (
            "help" if "--help" in arguments else f"{arguments[0]} {'HEARTBIT_URL' in (env or {})}"
        )
        # A running Python does not look at PYTHON... again.
        python = any(name.startswith("PYTHON") for name in env or ())
        is_first = self._is_first(kind)
        if python or (is_first and self._is_first("any")):
            return self.end(self.spawn(*arguments, env=env, cwd=cwd))
        environment = {**os.environ, **(env or {})}
        ended = self._prepared.run(arguments, environment, cwd, seconds=60, imports=is_first)
        return Ended(*ended)

    def _is_first(self, kind: str) -> bool:
        try:
            (self._used / kind.replace("/", "_")[:80]).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def start(self, *arguments: str, env: dict[str, str] | None = None, said: str = "") -> Started:
        """Start it with standard input; `end` waits for it."""
        if not said and self._is_first(f"{arguments[0]} started"):
            return self.spawn(*arguments, env=env)
        environment = {**os.environ, **(env or {})}
        return self._prepared.converse(arguments, environment, said=said)

    def spawn(
        self, *arguments: str, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start it as a process from nothing; `end` waits for it.

        Args:
            arguments: Of `heartbit`.
            env: Beside this process's environment.
            options: Of ``subprocess.Popen``.
        """
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        standard: dict[str, Any] = {"cwd": ROOT, **pipes}
        return subprocess.Popen(
            [HEARTBIT, *arguments], env=environment, text=True, **(standard | options)
        )

    def end(self, process: Started, *, seconds: float = 60) -> Ended:
        """Wait for its end; it is killed if there is none."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        code = process.returncode
        assert code is not None
        return Ended(code, out, err)
