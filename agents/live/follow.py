"""Following of a run tree: its journals first, then its live streams.

Postgres has every event; live output only signals when to look and carries tokens. So a reader that
starts late or is disconnected misses nothing: it resumes from its sequence numbers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from redis.exceptions import RedisError

from agents.live.pubsub import START, Cursor, LiveSubscriber
from agents.live.tree_reader import TreeReader
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, RunUpdate, Update
from agents.models import Run
from agents.runs.live_entries import Delta, Entry, Progress, RunEnd
from heartbit_site.base import orm

if TYPE_CHECKING:
    from agents.journal.memory_texts import TreeTexts

__all__ = [
    "DeltaUpdate",
    "EventUpdate",
    "ProgressUpdate",
    "RunEnd",
    "RunUpdate",
    "Update",
    "follow",
    "wait_for_end",
    "wait_for_result",
]

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
        texts: As of ``TreeReader``; with the events up to ``after``.
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
            # Silence, or a stream so long that people's messages would be shown late.
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
