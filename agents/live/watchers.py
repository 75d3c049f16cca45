"""Many who watch the same run tree in one process: one of them reads, and all are told.

Whoever comes first reads the journal from what they have; what follows is read, rendered and
encoded once (``_Reading``), and handed to everybody who came by then. Whoever comes later reads
the journal too, and is handed the rest: what they know already is left out by its number, so
nothing is missing and nothing comes twice. Whoever is too slow for what comes begins again like
one who was cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from asyncio import AbstractEventLoop
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from django.conf import settings

from agents.events import ModelAnswered
from agents.live.follow import follow
from agents.live.gathering import BATCH, gathered
from agents.live.shown import shown
from agents.live.tree import TreeReader
from agents.live.updates import Happened, Streamed
from agents.live.valkey import ValkeySource, connect
from heartbit_site.base import orm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
    from uuid import UUID

    from agents.live.updates import Update

MAX_BEHIND = 50  # batches that a slow watcher may leave lying


class Batch:
    """Updates that go out together."""

    def __init__(self, updates: Sequence[Update]) -> None:
        self.updates = tuple(updates)
        self._text: asyncio.Future[str] | None = None

    async def text(self) -> str:
        """A page's message with their lines (``agents.live.shown``); made once for all pages."""
        if self._text is None:
            self._text = asyncio.ensure_future(self._encoded())
        return await asyncio.shield(self._text)  # a page that leaves takes it from nobody

    async def _encoded(self) -> str:
        lines = await shown(self.updates)
        return json.dumps({"type": "lines", "lines": lines}, separators=(",", ":"))


async def watch(
    root_id: UUID, *, after: Mapping[UUID, int] | None = None
) -> AsyncGenerator[Batch, None]:
    """Everything about a tree, from what the watcher has until all of its runs have ended.

    As ``follow``, in batches: per run, events come in the order of their journal, each exactly
    once. Deltas are best effort and may come twice, which their offsets tell.

    Args:
        root_id: The run at the top.
        after: The last event that the watcher has, by run: it goes on from there.
    """
    reader = TreeReader(root_id, seqs=dict(after or {}))
    while True:
        async for batch in _past(reader):
            yield batch
        if reader.over:
            return
        with _attend(reader) as place:
            # What was journaled between the look above and this moment, nobody else may tell.
            async for batch in _past(reader):
                yield batch
            if place.begun:
                yield Batch(place.begun)
            while (told := await place.told.get()) is not None:
                batch = _without_known(told, reader.seqs)
                if batch.updates:
                    yield batch
            if place.problem is not None:
                raise place.problem
            if not place.is_behind:
                return


async def _past(reader: TreeReader) -> AsyncIterator[Batch]:
    news = await orm.in_thread(reader.news)
    for first in range(0, len(news), BATCH):
        yield Batch(news[first : first + BATCH])


def _without_known(batch: Batch, seqs: dict[UUID, int]) -> Batch:
    """The batch as it is, if everything in it is new; notes how far the watcher has come then."""
    fresh: list[Update] = []
    for update in batch.updates:
        if isinstance(update, Happened):
            if update.recorded.seq <= seqs.get(update.run_id, 0):
                continue
            seqs[update.run_id] = update.recorded.seq
        fresh.append(update)
    return batch if len(fresh) == len(batch.updates) else Batch(fresh)


@dataclass(slots=True, eq=False)
class _Place:
    """One watcher of a reading.

    Attributes:
        begun: What models were writing when the watcher came.
        told: What came since; None is the last.
        is_behind: The watcher left too much lying, and is told no more.
        problem: What ended the reading early.
    """

    begun: list[Update]
    told: asyncio.Queue[Batch | None] = field(default_factory=asyncio.Queue)
    is_behind: bool = False
    problem: BaseException | None = None


@contextlib.contextmanager
def _attend(reader: TreeReader) -> Iterator[_Place]:
    """A place at the tree's reading, which begins where the reader is if there is none yet."""
    readings = _readings.setdefault(asyncio.get_running_loop(), {})
    reading = readings.get(reader.root_id)
    if reading is None or reading.is_over:
        reading = readings[reader.root_id] = _Reading(reader)
    place = reading.place()
    try:
        yield place
    finally:
        if reading.leave(place) and readings.get(reader.root_id) is reading:
            del readings[reader.root_id]


class _Reading:
    """Reads a tree for all who watch it, until it is over or the last of them has left."""

    def __init__(self, reader: TreeReader) -> None:
        self._places: set[_Place] = set()
        self._writing: dict[UUID, list[Streamed]] = {}
        self._answered: dict[UUID, int] = {}
        self._task = asyncio.ensure_future(self._read(reader.root_id, dict(reader.seqs)))
        self._task.add_done_callback(self._ended)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be told, though some may still be taking it in."""
        return self._task.done()

    def place(self) -> _Place:
        """For one more watcher."""
        place = _Place([one for written in self._writing.values() for one in written])
        self._places.add(place)
        return place

    def leave(self, place: _Place) -> bool:
        """One watcher less; whether it was the last, with whom the reading ends."""
        self._places.discard(place)
        if not self._places:
            self._task.cancel()
        return not self._places

    async def _read(self, root_id: UUID, after: dict[UUID, int]) -> None:
        client = connect(settings.REDIS_URL)
        try:
            updates = follow(root_id, ValkeySource(client), after=after)
            async with contextlib.aclosing(gathered(updates)) as batches:
                async for updates_together in batches:
                    news = [one for one in updates_together if self._is_news(one)]
                    if news:
                        self._tell(Batch(news))
        finally:
            await client.aclose()

    def _is_news(self, update: Update) -> bool:
        """Whether it is no delta of a turn that was answered; keeps what is being written."""
        if isinstance(update, Happened):
            if isinstance(update.recorded.event, ModelAnswered):
                self._answered[update.run_id] = update.recorded.event.turn
                self._writing.pop(update.run_id, None)
        elif isinstance(update, Streamed):
            if update.delta.turn <= self._answered.get(update.run_id, 0):
                return False
            written = self._writing.setdefault(update.run_id, [])
            if written and written[-1].delta.attempt != update.delta.attempt:
                written.clear()
            written.append(update)
        return True

    def _tell(self, batch: Batch) -> None:
        for place in list(self._places):
            if place.told.qsize() < MAX_BEHIND:
                place.told.put_nowait(batch)
            else:
                place.is_behind = True
                place.told.put_nowait(None)
                self._places.discard(place)

    def _ended(self, task: asyncio.Task[None]) -> None:
        problem = None if task.cancelled() else task.exception()
        for place in self._places:
            place.problem = problem
            place.told.put_nowait(None)


_readings: WeakKeyDictionary[AbstractEventLoop, dict[UUID, _Reading]] = WeakKeyDictionary()
