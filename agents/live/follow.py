"""Following of a run tree: its journals first, then its live streams.

Postgres has every event; live output only signals when to look and carries tokens. So a reader that
starts late or is disconnected misses nothing: it resumes from its sequence numbers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from redis.exceptions import RedisError

from agents.choices import TERMINAL
from agents.journal.memory_texts import TreeTexts
from agents.live.pubsub import START, Cursor, LiveSubscriber
from agents.live.updates import (
    DeltaUpdate,
    EventUpdate,
    ProgressUpdate,
    Update,
    happened,
    seen,
)
from agents.models import Run
from agents.querysets import events_after, tree
from agents.runs.live_entries import Delta, Entry, Progress, RunEnd
from heartbit_site.base import orm


@dataclass(slots=True)
class TreeReader:
    """Position of one reader in a tree.

    Attributes:
        seqs: Last event read, by run. A reader's claim is limited to the tree's own runs and to the
            ends of their journals.
        has_ended: True if every run had ended at the last read.
        texts: What the reader may not see; None: the reader sees all. It must have seen a run from
            its first event on.
    """

    root_id: UUID
    seqs: dict[UUID, int] = field(default_factory=dict)
    has_ended: bool = False
    texts: TreeTexts | None = None

    def read_new(self) -> list[Update]:
        """Return runs that changed since the last read, each with its new events. Blocks."""
        updates: list[Update] = []
        runs = tree(self.root_id)
        self.seqs = {run.pk: min(self.seqs.get(run.pk, 0), run.last_seq) for run in runs}
        for run in runs:
            last = self.seqs[run.pk]
            if run.last_seq == last:
                continue
            updates.append(seen(run))
            for row in events_after(run.pk, last):
                updates.append(self._shown(happened(row)))
                self.seqs[run.pk] = row.seq
        self.has_ended = all(run.status in TERMINAL for run in runs)
        return updates

    def _shown(self, update: EventUpdate) -> EventUpdate:
        """Return an event as the reader may see it."""
        if self.texts is None:
            return update
        recorded = update.recorded
        event = self.texts.redact(update.run_id, recorded.event)
        return EventUpdate(update.run_id, replace(recorded, event=event))


BATCH = 200
GATHER_SECONDS = 0.02


async def batched(updates: AsyncIterator[Update]) -> AsyncGenerator[list[Update], None]:
    """Yield the updates in batches of those that arrive within ``GATHER_SECONDS``."""
    batch: list[Update] = []
    coming: asyncio.Task[Update] | None = None
    loop = asyncio.get_running_loop()
    due = 0.0
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(updates))
            timeout = max(0.0, due - loop.time()) if batch else None
            done, _ = await asyncio.wait([coming], timeout=timeout)
            if done:
                task, coming = coming, None
                try:
                    update = task.result()
                except StopAsyncIteration:
                    break
                due = due if batch else loop.time() + GATHER_SECONDS
                batch.append(update)
            if not done or len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


async def _next(updates: AsyncIterator[Update]) -> Update:
    return await anext(updates)


logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # of silence on the streams, after which a reader polls Postgres
STREAMING_LOOK_SECONDS = 3.0  # between polls while the streams are never silent


async def follow(
    root_id: UUID,
    source: LiveSubscriber,
    *,
    after: Mapping[UUID, int] | None = None,
    texts: TreeTexts | None = None,
) -> AsyncIterator[Update]:
    """Yield every update of a tree, from its beginning until all of its runs have ended.

    Per run, events come in the order of their journal and each exactly once. Deltas are best
    effort: they are lost while live output is unavailable.

    Args:
        root_id: Run at the top.
        source: Signals when to look, and carries the deltas.
        after: Last event that the reader has, by run.
        texts: As for ``TreeReader``; it must have seen the events up to ``after``.
    """
    reader = TreeReader(root_id, seqs=dict(after or {}), texts=texts)
    cursors: dict[UUID, Cursor] = {}
    while True:
        for update in await orm.run_in_thread(reader.read_new):
            yield update
        if reader.has_ended:
            return
        cursors = dict.fromkeys(reader.seqs, START) | cursors
        last_polled_at, look = time.monotonic(), False
        while not look:
            entries = await _read(source, cursors)
            # Silence, or a stream so long that messages from people would appear late.
            look = not entries or time.monotonic() - last_polled_at > STREAMING_LOOK_SECONDS
            for run_id, cursor, entry in entries:
                cursors[run_id] = cursor
                if isinstance(entry, Delta):
                    yield DeltaUpdate(run_id, entry)
                elif isinstance(entry, Progress):
                    yield ProgressUpdate(run_id, entry)
                else:
                    look = True


async def wait_for_end(run_id: UUID, source: LiveSubscriber) -> Run:
    """Return the complete run once it has ended; ``wait_for_result`` costs less."""
    await wait_for_result(run_id, source)
    return await orm.read_in_thread(lambda: Run.objects.get(pk=run_id))


async def wait_for_result(run_id: UUID, source: LiveSubscriber) -> RunEnd:
    """Return the end of a run once it has ended.

    Raises:
        RunNotFoundError: The run does not exist or was deleted.
    """
    return await source.ends.result(run_id)


async def _read(
    source: LiveSubscriber, cursors: Mapping[UUID, Cursor]
) -> list[tuple[UUID, Cursor, Entry]]:
    try:
        return await source.read(cursors, timeout=LOOK_SECONDS)
    except (RedisError, OSError) as error:
        logger.warning("live output is unavailable (%s); polling the journal", error)
        await asyncio.sleep(LOOK_SECONDS)
        return []
