"""A server of ours in a process of its own, ended by its own id."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]


class ServerProcess:
    """``python -m MODULE``, which prints ``{"url": ...}`` as soon as it listens.

    Attributes:
        url: Where it listens, without a slash at the end.
        places: All that it printed: a server may listen at several places.
    """

    url: str
    places: dict[str, str]

    def __init__(self, module: str, *options: str) -> None:
        self._command = [sys.executable, "-m", module, *options]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 20)
        if not ready:
            self.__exit__()
            raise AssertionError(f"did not start: {self._command}")
        self.places = json.loads(self._process.stdout.readline())
        self.url = self.places["url"]
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate(timeout=90)
