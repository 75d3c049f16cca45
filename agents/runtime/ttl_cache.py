"""What was read from the database a moment ago, so that runs do not all ask for it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Key = TypeVar("Key")
Value = TypeVar("Value")

KEEP_SECONDS = 10.0
KEEP = 1_000


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[Value]):
    """What was read, and until when (in the clock's seconds) it is believed."""

    value: Value
    until: float


class TTLCache(Generic[Key, Value]):
    """Reads a thing at most every ten seconds; who asks for the same at once shares one query."""

    def __init__(
        self,
        read: Callable[[Key], Coroutine[Any, Any, Value]],
        *,
        name: str,
        clock: Callable[[], float],
    ) -> None:
        """``name`` is that of the tasks that read; ``clock`` tells seconds, from any beginning."""
        self._read = read
        self._name = name
        self._clock = clock
        self._known: OrderedDict[Key, CacheEntry[Value]] = OrderedDict()
        self._reading: dict[Key, asyncio.Task[Value]] = {}

    def peek(self, key: Key) -> CacheEntry[Value] | None:
        """What is known of it without asking; None when that has to be done."""
        known = self._known.get(key)
        if known is None or self._clock() >= known.until:
            return None
        self._known.move_to_end(key)
        return known

    async def get(self, key: Key) -> Value:
        """What is known of it, read when that is too long ago.

        Raises:
            Exception: What reading raised; the next to ask reads again.
        """
        known = self.peek(key)
        if known is not None:
            return known.value
        reading = self._reading.get(key)
        if reading is None:
            reading = asyncio.create_task(self._read(key), name=self._name)
            reading.add_done_callback(lambda task: self._learn(key, task))
            self._reading[key] = reading
        return await asyncio.shield(reading)  # a run that is cancelled leaves it to the others

    def _learn(self, key: Key, task: asyncio.Task[Value]) -> None:
        del self._reading[key]
        if task.cancelled() or task.exception() is not None:  # asked, so that it is not logged
            return
        self._known[key] = CacheEntry(task.result(), self._clock() + KEEP_SECONDS)
        self._known.move_to_end(key)
        if len(self._known) > KEEP:
            self._known.popitem(last=False)
