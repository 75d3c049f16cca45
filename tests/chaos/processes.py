"""The effects server as a process."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from typing import TYPE_CHECKING, Self

from tests.fleet import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class EffectsServer:
    """``tests.effects_server``, never killed before its users are."""

    def __init__(self, *, ledger: Path, latency_ms: float = 0.0) -> None:
        self._command = [sys.executable, "-m", "tests.effects_server", "--ledger", str(ledger)]
        self._command += ["--latency-ms", str(latency_ms)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 20)
        assert ready, "the effects server did not start"
        self.url: str = json.loads(self._process.stdout.readline())["url"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)
