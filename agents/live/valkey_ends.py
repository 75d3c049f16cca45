"""Ends of runs over Valkey: a channel per run, and one connection for all waiters of a loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from asyncio import AbstractEventLoop
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agents.live.ends import Ends
from agents.runs.live_entries import decode_end
from heartbit_site.base import aio

logger = logging.getLogger(__name__)

_CHANNEL: Final = "heartbit:end:"
#: Timeout of a subscription; waiting longer is pointless, as Postgres is queried every second.
ATTEND_SECONDS: Final = 0.25
RETRY_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 2.0
PROBE_SECONDS: Final = 3.0  # of silence, after which the connection is probed
LINGER_SECONDS: Final = 30.0  # keeps the connection for the next waiter


def end_channel(run_id: UUID) -> str:
    """Return the channel that the end of a run is published to."""
    return f"{_CHANNEL}{run_id}"


class ValkeyEnds(Ends):
    """Waiters of one loop, notified by Valkey.

    The connection is open while there are waiters, and a while longer. A lost connection is
    reopened; until then, the queries in Postgres serve the waiters.

    Args:
        client: Client whose settings are used for the waiters' own connection.
    """

    def __init__(self, client: Redis) -> None:
        super().__init__()
        self._client = client
        self._attended: dict[UUID, asyncio.Event] = {}  # set once the server has answered
        self._changed = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._was_lost = False

    async def attend(self, run_id: UUID) -> None:
        """Wait until pushes about the run can be received, or until the timeout."""
        attended = self._attended.get(run_id)
        if attended is None or self._was_lost:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ATTEND_SECONDS):
                await attended.wait()

    def _came(self, run_id: UUID) -> None:
        if run_id in self._attended:
            return
        self._attended[run_id] = asyncio.Event()
        self._changed.set()
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve(), name="ends-listen")
            self._serving.add_done_callback(self._served)

    def _left(self, run_id: UUID) -> None:
        self._attended.pop(run_id, None)
        self._changed.set()

    def _served(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("ends of runs are looked up", exc_info=error)

    async def _serve(self) -> None:
        """Listen until there has been no waiter for a while."""
        while self._waiting:
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                if self._waiting and not self._was_lost:
                    reason = str(error) or type(error).__name__
                    logger.warning("ends of runs are looked up: no Valkey (%s)", reason)
                self._was_lost = True
                await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self) -> None:
        """Read one connection until it is lost, or there has been no waiter for some time.

        Raises:
            redis.exceptions.RedisError: The connection was lost.
            OSError: The connection was lost, or does not answer.
        """
        pool: Any = self._client.connection_pool
        connection = pool.make_connection()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await connection.connect()
            parts = {
                asyncio.ensure_future(self._subscribe(connection)),
                asyncio.ensure_future(self._hear(connection)),
            }
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await aio.cancel_and_wait(*parts)
            for part in done:
                part.result()
        finally:
            for attended in self._attended.values():
                attended.clear()
            await connection.disconnect(nowait=True)

    async def _subscribe(self, connection: Any) -> None:
        """Keep the subscriptions of a new connection in line with the waiters."""
        subscribed: set[UUID] = set()
        while True:
            self._changed.clear()
            wanted = set(self._attended)
            await _send(connection, "SUBSCRIBE", wanted - subscribed)
            await _send(connection, "UNSUBSCRIBE", subscribed - wanted)
            subscribed = wanted
            try:
                async with asyncio.timeout(None if wanted else LINGER_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _hear(self, connection: Any) -> None:
        """Read the server's messages, and probe it when it is silent."""
        is_probed = False
        while True:
            message: Any = await connection.read_response(
                timeout=PROBE_SECONDS, disconnect_on_error=False, push_request=True
            )
            if message is None and is_probed:
                raise TimeoutError("Valkey does not answer")
            is_probed = message is None
            match message:
                case None:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await connection.send_command("PING", check_health=False)
                case ["subscribe", channel, _]:
                    self._was_lost = False
                    if (attended := self._attended.get(_run_in(channel))) is not None:
                        attended.set()
                case ["message", channel, text]:
                    run_id = _run_in(channel)
                    self.tell(run_id, decode_end(run_id, text))


def _run_in(channel: str) -> UUID:
    return UUID(channel.removeprefix(_CHANNEL))


async def _send(connection: Any, command: str, run_ids: Iterable[UUID]) -> None:
    if run_ids:
        async with asyncio.timeout(PATIENCE_SECONDS):
            channels = map(end_channel, run_ids)
            await connection.send_command(command, *channels, check_health=False)


def shared() -> ValkeyEnds:
    """Return the waiters of the running loop, which has one connection for all of them."""
    loop = asyncio.get_running_loop()
    ends = _shared.get(loop)
    if ends is None:
        client = Redis.from_url(settings.REDIS_URL, decode_responses=True)
        ends = _shared[loop] = ValkeyEnds(client)
    return ends


_shared: WeakKeyDictionary[AbstractEventLoop, ValkeyEnds] = WeakKeyDictionary()
