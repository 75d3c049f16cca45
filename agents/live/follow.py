"""Follow a run tree: replay its journals, then the live streams, then whatever comes.

Postgres has every event; the window only says when to look and carries tokens. So a reader that
starts late, or is cut off, misses nothing: it begins again from the sequence numbers it has.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import connection
from redis.exceptions import RedisError

from agents.choices import TERMINAL
from agents.errors import RunNotFoundError
from agents.events import Recorded, decode
from agents.live.entries import Delta, End, Ended, Entry
from agents.live.updates import Happened, RunSeen, Streamed, Update
from agents.live.window import START, Cursor, Source
from agents.models import Run
from agents.querysets import events_after, tree
from heartbit_site.base import orm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from uuid import UUID

__all__ = [
    "End",
    "Happened",
    "RunSeen",
    "Streamed",
    "Update",
    "follow",
    "wait_for_end",
    "wait_for_result",
]

logger = logging.getLogger(__name__)

_END = "SELECT status, output, structured, error FROM agents_run WHERE id = %s"
LOOK_SECONDS = 1.0  # how long a reader trusts a silent window before it asks Postgres
STREAMING_LOOK_SECONDS = 3.0  # and how long one that is never silent


@dataclass(slots=True)
class _Reader:
    root_id: UUID
    seqs: dict[UUID, int] = field(default_factory=dict)
    cursors: dict[UUID, Cursor] = field(default_factory=dict)
    over: bool = False

    def news(self) -> list[Update]:
        """What Postgres has that was not seen yet. Runs in a thread."""
        updates: list[Update] = []
        runs = tree(self.root_id)
        for run in runs:
            seen = self.seqs.setdefault(run.pk, 0)
            self.cursors.setdefault(run.pk, START)
            if run.last_seq == seen:
                continue
            updates.append(RunSeen(run))
            for row in events_after(run.pk, seen):
                recorded = Recorded(row.seq, row.at, decode(row.type, row.payload))
                updates.append(Happened(run.pk, recorded))
                self.seqs[run.pk] = row.seq
        self.over = all(run.status in TERMINAL for run in runs)
        return updates


async def follow(
    root_id: UUID, source: Source, *, after: Mapping[UUID, int] | None = None
) -> AsyncIterator[Update]:
    """Yield everything about a tree, from its beginning until all of its runs have ended.

    Per run, events come in the order of their journal and each exactly once. Deltas are best
    effort: a window that is away costs them, and nothing else.

    Args:
        root_id: The run at the top.
        source: Says when to look, and carries the deltas.
        after: The last event that the reader has, by run: it goes on from there.
    """
    reader = _Reader(root_id, seqs=dict(after or {}))
    while True:
        for update in await orm.in_thread(reader.news):
            yield update
        if reader.over:
            return
        looked_at, look = time.monotonic(), False
        while not look:
            entries = await _read(source, reader)
            # Silence, or so long a stream that what people wrote meanwhile would come late.
            look = not entries or time.monotonic() - looked_at > STREAMING_LOOK_SECONDS
            for run_id, cursor, entry in entries:
                reader.cursors[run_id] = cursor
                if isinstance(entry, Delta):
                    yield Streamed(run_id, entry)
                else:
                    look = True


async def wait_for_end(run_id: UUID, source: Source) -> Run:
    """The whole run, once it has ended; ``wait_for_result`` costs less."""
    await wait_for_result(run_id, source)
    return await orm.read(lambda: Run.objects.get(pk=run_id))


async def wait_for_result(run_id: UUID, source: Source) -> End:
    """How the run ended, once it has. The window wakes the reader; it also looks each second.

    Raises:
        RunNotFoundError: There is no such run, or not any more.
    """
    reader = _Reader(run_id, cursors={run_id: START})
    while True:
        entries = await _read(source, reader)
        for _, cursor, _entry in entries:
            reader.cursors[run_id] = cursor
        last = entries[-1][2] if entries else None
        if isinstance(last, Ended) and last.end is not None:
            return last.end
        if last is None or isinstance(last, Ended):
            end = await orm.read(lambda: _end(run_id))
            if end.status in TERMINAL:
                return end


def _end(run_id: UUID) -> End:
    # Plain SQL: the query set of a row of forty columns costs more than all else of a wait.
    with connection.cursor() as cursor:
        cursor.execute(_END, (run_id,))
        row = cursor.fetchone()
    if row is None:
        raise RunNotFoundError(f"There is no run {run_id}.")
    status, output, structured, error = row
    return End(run_id, status, output, _loaded(structured), _loaded(error))


def _loaded(column: str | None) -> Any:
    return None if column is None else json.loads(column)  # Django leaves it as text


async def _read(source: Source, reader: _Reader) -> list[tuple[UUID, Cursor, Entry]]:
    try:
        return await source.read(reader.cursors, timeout=LOOK_SECONDS)
    except (RedisError, OSError) as error:
        logger.warning("the live window is away (%s); looking into the journal", error)
        await asyncio.sleep(LOOK_SECONDS)
        return []
