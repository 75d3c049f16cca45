"""Live output over Valkey: one capped stream per run, written in batches, followed with XREAD.

The end of a run is also published to its waiters (``agents.live.valkey_ends``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import RedisError
from redis.typing import EncodableT, FieldT

from agents.live.pubsub import Cursor
from agents.live.valkey_ends import ValkeyEnds, end_channel
from agents.runs.live_entries import (
    Delta,
    Entry,
    JournalAdvanced,
    RunEnded,
    decode,
    encode,
    encode_end,
)
from heartbit_site.base.errors import HeartbitError

logger = logging.getLogger(__name__)

COALESCE_SECONDS = 0.03
MAX_ENTRIES = 5_000
MAX_BACKLOG = 50_000
#: Entries per read: of all streams together (about), and of one stream at most.
READ_ENTRIES = 5_000
READ_OF_ONE = 200
LIVE_SECONDS = 24 * 3600  # expiry while live; a run cancelled while waiting has no end entry
ENDED_SECONDS = 3600  # expiry after the end; later readers use the journal
#: Maximum wait for a frozen Valkey: for a write, and for a read beyond its timeout.
PATIENCE_SECONDS = 2.0


class LiveOutputError(HeartbitError):
    """Live output in Valkey cannot be erased."""


def stream_key(run_id: UUID) -> str:
    """Return the key of a run's stream."""
    return f"heartbit:live:{run_id}"


def erase_streams(run_ids: Iterable[UUID]) -> None:
    """Erase the live output of runs that a worker may still be publishing.

    A value of another type replaces each stream for an hour, so that nothing can be appended.

    Raises:
        LiveOutputError: Valkey is down.
    """
    with SyncRedis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS) as client:
        pipeline = client.pipeline(transaction=False)
        for run_id in run_ids:
            pipeline.set(stream_key(run_id), "erased", ex=ENDED_SECONDS)
        try:
            pipeline.execute()
        except (RedisError, OSError) as error:
            raise LiveOutputError(
                "The live output of runs cannot be erased, because Valkey does not answer: erase "
                "again when it is available."
            ) from error


def connect(url: str) -> Redis:
    """Return a client for the calling thread's loop. Strings in, strings out."""
    return Redis.from_url(url, decode_responses=True, max_connections=64)


class ValkeyPublisher:
    """Writer of live output in batches: deltas are delayed briefly, an ending is not.

    One batch is in flight at a time, so entries keep their order. Use it on its client's loop.
    """

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._backlog: list[tuple[UUID, Entry]] = []
        self._is_urgent = False
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def publish(self, run_id: UUID, entry: Entry) -> None:
        """Add an entry to the run's stream, soon."""
        if len(self._backlog) >= MAX_BACKLOG:
            self._backlog.clear()  # Valkey is down: live output is best effort, memory is limited
        self._backlog.append((run_id, entry))
        self._look(urgent=isinstance(entry, RunEnded))

    async def flush(self) -> None:
        """Wait until the backlog is written or lost."""
        while self._backlog or self._writing:
            self._look(urgent=True)
            if self._writing is not None:
                await asyncio.wait((self._writing,))

    def _look(self, *, urgent: bool) -> None:
        """Schedule a write of the backlog: now, soon, or after the batch in flight."""
        self._is_urgent = self._is_urgent or urgent
        if self._writing is not None or not self._backlog:
            return
        if self._is_urgent:
            self._begin()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE_SECONDS, self._begin)

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_urgent = False
        batch, self._backlog = self._backlog, []
        # The task's first step runs before the waiters for the run's end wake up.
        self._writing = asyncio.create_task(self._write(batch), name="live-output")
        self._writing.add_done_callback(self._written)

    def _written(self, _: asyncio.Task[None]) -> None:
        self._writing = None
        self._look(urgent=False)

    async def _write(self, batch: list[tuple[UUID, Entry]]) -> None:
        """Write a batch; a failure of Valkey affects only the live view."""
        pipeline = self._client.pipeline(transaction=False)
        last: dict[str, Entry] = {}
        for run_id, entry in coalesce(batch):
            key = stream_key(run_id)
            fields: dict[FieldT, EncodableT] = dict(encode(entry).items())
            pipeline.xadd(key, fields, maxlen=MAX_ENTRIES, approximate=True)
            last[key] = entry
            if isinstance(entry, RunEnded):
                pipeline.publish(end_channel(run_id), encode_end(entry))
        for key, entry in last.items():
            pipeline.expire(key, ENDED_SECONDS if isinstance(entry, RunEnded) else LIVE_SECONDS)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await pipeline.execute()
        except (RedisError, OSError) as error:
            reason = str(error) or type(error).__name__
            logger.warning("live output of %d entries was lost: %s", len(batch), reason)


def coalesce(batch: list[tuple[UUID, Entry]]) -> list[tuple[UUID, Entry]]:
    """Join deltas that continue each other, drop overtaken ``JournalAdvanced``; keep the order."""
    out: list[tuple[UUID, Entry]] = []
    last: dict[UUID, int] = {}
    for run_id, entry in batch:
        at = last.get(run_id)
        before = out[at][1] if at is not None else None
        if at is not None and (joined := _join(before, entry)) is not None:
            out[at] = (run_id, joined)
            continue
        last[run_id] = len(out)
        out.append((run_id, entry))
    return out


def _join(before: Entry | None, entry: Entry) -> Entry | None:
    match before, entry:
        case Delta() as first, Delta() as second:
            continues = (first.turn, first.attempt, first.kind) == (
                second.turn,
                second.attempt,
                second.kind,
            ) and first.offset + len(first.text) == second.offset
            return replace(first, text=first.text + second.text) if continues else None
        case JournalAdvanced(), (JournalAdvanced() | RunEnded()):
            return entry
        case _:
            return None


class ValkeySubscriber:
    """Reader of streams with a blocking XREAD, on its client's loop.

    Attributes:
        ends: Waiters for the ends of runs.
    """

    def __init__(self, client: Redis) -> None:
        self.ends = ValkeyEnds(client)
        self._client = client

    async def read(
        self, cursors: Mapping[UUID, Cursor], *, timeout: float
    ) -> list[tuple[UUID, Cursor, Entry]]:
        """Return entries after the cursors; wait at most ``timeout`` seconds for the first.

        A backlog is split over several reads, evenly from all streams: for a wide tree, it would
        exceed what Valkey can send within the timeout.

        Raises:
            redis.exceptions.RedisError: Valkey is down; the caller polls Postgres meanwhile.
            TimeoutError: Valkey does not answer; the caller polls Postgres meanwhile.
        """
        runs = {stream_key(run_id): run_id for run_id in cursors}
        async with asyncio.timeout(timeout + PATIENCE_SECONDS):
            streams: Any = await self._client.xread(  # redis-py types every shape it may return
                {stream_key(run_id): cursor or "0" for run_id, cursor in cursors.items()},
                count=max(1, min(READ_OF_ONE, READ_ENTRIES // max(1, len(runs)))),
                block=max(1, round(timeout * 1000)),
            )
        return [
            (runs[key], cursor, decode(fields))
            for key, entries in streams
            for cursor, fields in entries
        ]
