"""Records of the wire server: counters, and a file that survives its crash."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class RunStats:
    """Counters of one conversation; ``turns`` counts the requests of each turn."""

    requests: int = 0
    completion_tokens: int = 0
    turns: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Stats:
    """Counters of a server.

    ``requests`` = ``answered`` + ``failed`` + ``disconnected`` + ``in_flight``; tokens are counted
    when an answer has been sent completely.
    """

    requests: int = 0
    answered: int = 0
    failed: int = 0
    disconnected: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    runs: dict[str, RunStats] = field(default_factory=dict)

    def received(self, run: str, turn: int) -> None:
        """Count a request."""
        self.requests += 1
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        stats = self.runs.setdefault(run, RunStats())
        stats.requests += 1
        stats.turns[turn] = stats.turns.get(turn, 0) + 1

    def sent(self, run: str, prompt_tokens: int, completion_tokens: int) -> None:
        """Count a complete answer."""
        self.answered += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        if run in self.runs:  # else the counters were reset meanwhile
            self.runs[run].completion_tokens += completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Return the counters as they are served."""
        return asdict(self)


class Ledger:
    """Writer of JSON lines, synced to disk in a thread; one sync covers all waiting lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._waiting: deque[bytes] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def append(self, entry: dict[str, Any]) -> None:
        """Write ``entry``; return once it is on disk."""
        self._waiting.append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        # The thread's jobs follow each other, so a job without lines comes after their sync.
        await asyncio.get_running_loop().run_in_executor(self._thread, self._sync)

    def close(self) -> None:
        """Write the waiting lines and stop."""
        self._thread.submit(self._sync)
        self._thread.shutdown()
        self._file.close()

    def _sync(self) -> None:
        lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if lines:
            self._file.write(b"".join(lines))
            os.fsync(self._file.fileno())
