"""Records of the wire server: counters, and a file that survives its crash."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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

    def to_json(self) -> dict[str, Any]:
        """Return the counters as they are served."""
        return asdict(self)


class Ledger:
    """Writer of JSON lines, synced to disk in a thread; one sync covers all waiting lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._queue: queue.SimpleQueue[tuple[bytes, Callable[[], None]] | None] = (
            queue.SimpleQueue()
        )
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._thread.start()

    def append(self, entry: dict[str, Any], *, then: Callable[[], None]) -> None:
        """Write ``entry`` and call ``then`` on the loop once it is on disk."""
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        self._queue.put((line, then))

    def close(self) -> None:
        """Write the waiting lines and stop."""
        self._queue.put(None)
        self._thread.join()
        self._file.close()

    def _work(self) -> None:
        running = True
        while running:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            entries = [entry for entry in batch if entry is not None]
            running = len(entries) == len(batch)
            self._file.write(b"".join(line for line, _ in entries))
            os.fsync(self._file.fileno())
            for _, then in entries:
                self._loop.call_soon_threadsafe(then)
