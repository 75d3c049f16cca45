"""Watchers of a run tree in one process: one reading serves all of them.

The first watcher reads the journal; later updates are read, folded, rendered and encoded once
(``_Reading``) and handed to all current watchers. A later watcher reads the journal too and then
receives the rest: known events are skipped by sequence number, so nothing is missing or repeated. A
watcher that falls too far behind starts over, as after a disconnect.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings

from agents.journal.events import ModelAnswered
from agents.live.follow import BATCH, TreeReader, batched, follow
from agents.live.page_lines import Shown, render_lines, take
from agents.live.tree_view import TreeView
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, Update
from agents.live.valkey import ValkeySubscriber, connect
from heartbit_site.base import orm

if TYPE_CHECKING:
    from agents.journal.memory_texts import TreeTexts

MAX_BEHIND = 50  # unread batches of a slow watcher


class Batch:
    """Updates that are sent together."""

    def __init__(self, render_lines: Sequence[Shown]) -> None:
        self.shown = tuple(render_lines)
        self._text: asyncio.Future[str] | None = None

    @property
    def updates(self) -> tuple[Update, ...]:
        """Updates of the batch."""
        return tuple(one.update for one in self.shown)

    async def text(self) -> str:
        """Return a page's message with the lines (``page_lines``), encoded once for all pages."""
        if self._text is None:
            self._text = asyncio.ensure_future(self._encoded())
        return await asyncio.shield(self._text)  # not cancelled by one page

    async def _encoded(self) -> str:
        lines = await render_lines(self.shown)
        return json.dumps({"type": "lines", "lines": lines}, separators=(",", ":"))


class _Past:
    """Journal events that a watcher lacks, and the view of the tree including them.

    The view is folded from each run's first event, even if the watcher has some events.
    """

    def __init__(self, root_id: UUID, known: dict[UUID, int], texts: TreeTexts | None) -> None:
        self.reader = TreeReader(root_id, texts=texts)
        self.tree = TreeView()
        self._known = known
        self._is_read = False

    async def news(self) -> AsyncIterator[Batch]:
        """Yield the updates since the last read."""
        news = await orm.run_in_thread(self._read)
        for first in range(0, len(news), BATCH):
            yield Batch(news[first : first + BATCH])

    def _read(self) -> list[Shown]:
        updates = self.reader.read_new()
        if not self._is_read:
            # A watcher's claim is limited to the ends of the journals.
            self._is_read = True
            claimed, ends = dict(self._known), self.reader.seqs
            self._known.clear()
            self._known.update({run: min(seq, ends.get(run, 0)) for run, seq in claimed.items()})
        return _unknown([take(self.tree, update) for update in updates], self._known)


def _nothing() -> None:
    """Return the empty redaction of a watcher who sees everything."""


async def watch(
    root_id: UUID,
    *,
    after: Mapping[UUID, int] | None = None,
    hidden: Callable[[], TreeTexts | None] = _nothing,
) -> AsyncGenerator[Batch, None]:
    """Yield every update of a tree, from the watcher's position until all runs have ended.

    As ``follow``, in batches: per run, events come in the order of their journal, each exactly
    once. Deltas are best effort and may be repeated; their offsets reveal it.

    Args:
        root_id: Run at the top.
        after: Last event that the watcher has, by run.
        hidden: Returns a new redaction of what the watcher may not see; None hides nothing. Blocks.
    """
    known = dict(after or {})
    while True:
        past = _Past(root_id, known, await orm.run_in_thread(hidden))
        async for batch in past.news():
            yield batch
        if past.reader.has_ended:
            return
        with _attend(past) as place:
            if not place.is_first:
                # Updates passed to other watchers since the read above.
                async for batch in past.news():
                    yield batch
            past.tree = TreeView()  # free it: only the reading keeps a tree
            async for batch in _batches(place, known):
                yield batch
            if not place.is_behind:
                return


async def _batches(place: _Place, known: dict[UUID, int]) -> AsyncIterator[Batch]:
    if place.begun:
        yield Batch(place.begun)
    while (batch := await place.batches.get()) is not None:
        fresh = _unknown(batch.shown, known)
        if fresh:
            yield batch if len(fresh) == len(batch.shown) else Batch(fresh)
    if place.problem is not None:
        raise place.problem


def _unknown(render_lines: Sequence[Shown], known: dict[UUID, int]) -> list[Shown]:
    """Return the updates that a watcher lacks, and advance its position."""
    fresh: list[Shown] = []
    for one in render_lines:
        update = one.update
        if isinstance(update, EventUpdate):
            if update.recorded.seq <= known.get(update.run_id, 0):
                continue
            known[update.run_id] = update.recorded.seq
        fresh.append(one)
    return fresh


@dataclass(slots=True, eq=False)
class _Place:
    """One watcher of a reading.

    Attributes:
        begun: Text of model calls that were in flight when the watcher came.
        is_first: True if the reading began with this watcher.
        batches: Batches since the watcher came; None ends them.
        is_behind: True if the watcher fell too far behind and was dropped.
        problem: Error that ended the reading early.
    """

    begun: list[Shown]
    is_first: bool
    batches: asyncio.Queue[Batch | None] = field(default_factory=asyncio.Queue)
    is_behind: bool = False
    problem: BaseException | None = None


@contextlib.contextmanager
def _attend(past: _Past) -> Iterator[_Place]:
    """Join the tree's reading; the first watcher starts it from the journal it has read."""
    readings = _readings.setdefault(asyncio.get_running_loop(), {})
    texts = past.reader.texts
    # All watchers who may not see a tree's memories get the same output.
    key = (past.reader.root_id, None if texts is None else texts.person)
    reading = readings.get(key)
    is_first = reading is None or reading.is_over
    if reading is None or reading.is_over:
        reading = readings[key] = _Reading(past)
    place = reading.place(is_first=is_first)
    try:
        yield place
    finally:
        if reading.leave(place) and readings.get(key) is reading:
            del readings[key]


class _Reading:
    """Reader of a tree for all of its watchers, until it ends or the last watcher leaves."""

    def __init__(self, past: _Past) -> None:
        self._places: set[_Place] = set()
        self._tree = past.tree
        self._writing: dict[UUID, list[Shown]] = {}
        self._task = asyncio.ensure_future(self._read(past.reader))
        self._task.add_done_callback(self._ended)

    @property
    def is_over(self) -> bool:
        """True once no more updates will be sent, even if some are still unread."""
        return self._task.done()

    def place(self, *, is_first: bool) -> _Place:
        """Add a watcher."""
        begun = [one for written in self._writing.values() for one in written]
        place = _Place(begun, is_first)
        self._places.add(place)
        return place

    def leave(self, place: _Place) -> bool:
        """Remove a watcher; return True if it was the last, which ends the reading."""
        self._places.discard(place)
        if not self._places:
            self._task.cancel()
        return not self._places

    async def _read(self, past: TreeReader) -> None:
        client = connect(settings.REDIS_URL)
        try:
            updates = follow(
                past.root_id, ValkeySubscriber(client), after=dict(past.seqs), texts=past.texts
            )
            async with contextlib.aclosing(batched(updates)) as batches:
                async for updates_together in batches:
                    taken = [take(self._tree, update) for update in updates_together]
                    news = [one for one in taken if self._is_news(one)]
                    if news:
                        self._tell(Batch(news))
        finally:
            await client.aclose()

    def _is_news(self, one: Shown) -> bool:
        """Return False for known live output; keep the text of model calls in flight."""
        run_id = one.update.run_id
        if isinstance(one.update, EventUpdate):
            event = one.update.recorded.event
            # The next turn's text may arrive before this event is read.
            if isinstance(event, ModelAnswered) and one.run.writing.turn <= event.turn:
                self._writing.pop(run_id, None)
        elif isinstance(one.update, DeltaUpdate):
            if one.view is None:
                return False
            if one.view["fresh"]:
                self._writing[run_id] = []
            self._writing.setdefault(run_id, []).append(one)
        elif isinstance(one.update, ProgressUpdate):
            return one.view is not None
        return True

    def _tell(self, batch: Batch) -> None:
        for place in list(self._places):
            if place.batches.qsize() < MAX_BEHIND:
                place.batches.put_nowait(batch)
            else:
                place.is_behind = True
                place.batches.put_nowait(None)
                self._places.discard(place)

    def _ended(self, task: asyncio.Task[None]) -> None:
        problem = None if task.cancelled() else task.exception()
        for place in self._places:
            place.problem = problem
            place.batches.put_nowait(None)


_readings: WeakKeyDictionary[AbstractEventLoop, dict[tuple[UUID, str | None], _Reading]] = (
    WeakKeyDictionary()
)
