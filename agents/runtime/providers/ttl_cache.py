"""Ten-second cache of database reads, shared by the runs of a process."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

KEEP_SECONDS = 10.0
KEEP = 1_000


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[Value]):
    """Cached value with its expiry, in the clock's seconds."""

    value: Value
    until: float


class TTLCache(Generic[Key, Value]):
    """Cache that reads each key at most every ten seconds; concurrent readers share one query."""

    def __init__(
        self,
        read: Callable[[Key], Coroutine[Any, Any, Value]],
        *,
        name: str,
        clock: Callable[[], float],
    ) -> None:
        """Take the name of the reading tasks, and a clock of seconds with any origin."""
        self._read = read
        self._name = name
        self._clock = clock
        self._known: OrderedDict[Key, CacheEntry[Value]] = OrderedDict()
        self._reading: dict[Key, asyncio.Task[Value]] = {}

    def peek(self, key: Key) -> CacheEntry[Value] | None:
        """Return the cached entry without reading; None if missing or expired."""
        known = self._known.get(key)
        if known is None or self._clock() >= known.until:
            return None
        self._known.move_to_end(key)
        return known

    async def get(self, key: Key) -> Value:
        """Return the cached value, or read it if missing or expired.

        Raises:
            Exception: Error of the read; the next call reads again.
        """
        known = self.peek(key)
        if known is not None:
            return known.value
        reading = self._reading.get(key)
        if reading is None:
            reading = asyncio.create_task(self._read(key), name=self._name)
            reading.add_done_callback(lambda task: self._learn(key, task))
            self._reading[key] = reading
        return await asyncio.shield(reading)  # other runs still need the read

    def _learn(self, key: Key, task: asyncio.Task[Value]) -> None:
        del self._reading[key]
        if task.cancelled() or task.exception() is not None:  # read: asyncio then logs none
            return
        self._known[key] = CacheEntry(task.result(), self._clock() + KEEP_SECONDS)
        self._known.move_to_end(key)
        if len(self._known) > KEEP:
            self._known.popitem(last=False)
