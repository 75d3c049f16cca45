"""Live output within one process: the same entries, kept in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from agents.live.entries import Entry
    from agents.live.window import Cursor


class LocalWindow:
    """Both ends of a window in one process; a cursor is an index. Use it on one loop."""

    def __init__(self) -> None:
        self._entries: defaultdict[UUID, list[Entry]] = defaultdict(list)
        self._news = asyncio.Condition()
        self._wakers: set[asyncio.Task[None]] = set()

    def put(self, run_id: UUID, entry: Entry) -> None:
        """Add an entry to the run's stream."""
        self._entries[run_id].append(entry)
        waker = asyncio.get_running_loop().create_task(self._wake())
        self._wakers.add(waker)
        waker.add_done_callback(self._wakers.discard)

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def read(
        self, cursors: Mapping[UUID, Cursor], *, timeout: float
    ) -> list[tuple[UUID, Cursor, Entry]]:
        """Entries after the cursors; waits at most ``timeout`` seconds for the first."""
        async with self._news:
            try:
                async with asyncio.timeout(timeout):
                    await self._news.wait_for(lambda: bool(self._after(cursors)))
            except TimeoutError:
                return []
            return self._after(cursors)

    def _after(self, cursors: Mapping[UUID, Cursor]) -> list[tuple[UUID, Cursor, Entry]]:
        return [
            (run_id, str(index + 1), self._entries[run_id][index])
            for run_id, cursor in cursors.items()
            for index in range(int(cursor or 0), len(self._entries[run_id]))
        ]
