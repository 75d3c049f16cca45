"""Subscription of a web process to the hints of all processes (``agents.live.changes``)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from agents.live.changes import EVERYWHERE, GROUP, KINDS
from heartbit_site.base import aio

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 2.0
PROBE_SECONDS = 3.0  # of silence, after which a message to itself probes the subscription


class Listener:
    """Receiver of hints; create and use it on one loop.

    The layer reports neither a lost nor a new connection, so the listener probes its subscription
    and renews it when the probe does not arrive. After an interruption it reports a change
    everywhere, because hints may have been missed.

    Attributes:
        connected_since_ms: Since when the subscription is confirmed, in milliseconds since 1970;
            None while it is not.
    """

    def __init__(self, on_hint: Callable[[int, Iterable[str]], None]) -> None:
        self.connected_since_ms: int | None = None
        self._on_hint = on_hint
        self._task = asyncio.ensure_future(self._listen())

    @property
    def is_connected(self) -> bool:
        """True while the subscription is confirmed."""
        return self.connected_since_ms is not None

    async def stop(self) -> None:
        """End the subscription."""
        await aio.cancel_and_wait(self._task)

    async def _listen(self) -> None:
        layer: Any = get_channel_layer()
        was_lost = False
        while True:
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await layer.flush()  # drop state of an earlier attempt
                    channel = await layer.new_channel()
                    await layer.group_add(GROUP, channel)
                self.connected_since_ms = time.time_ns() // 1_000_000
                if was_lost:
                    self._on_hint(EVERYWHERE, KINDS)
                await self._receive(layer, channel)
            except (RedisError, OSError) as error:
                if not was_lost:
                    reason = str(error) or type(error).__name__
                    logger.warning("live pages look for changes: no hints (%s)", reason)
            except Exception:
                logger.exception("live pages look for changes: no hints")
            finally:
                self.connected_since_ms = None
            was_lost = True
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive(self, layer: Any, channel: str) -> None:
        coming: asyncio.Task[dict[str, Any]] | None = None
        is_probed = False
        try:
            while True:
                # Not cancelled between messages: the layer would close the channel.
                coming = coming or asyncio.ensure_future(layer.receive(channel))
                done, _ = await asyncio.wait([coming], timeout=PROBE_SECONDS)
                if done:
                    message, coming, is_probed = coming.result(), None, False
                    self._hear(message)
                elif is_probed:
                    raise TimeoutError("the subscription does not answer")
                else:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await layer.send(channel, {"type": "probe"})
                    is_probed = True
        finally:
            if coming is not None:
                coming.cancel()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await asyncio.gather(coming, return_exceptions=True)

    def _hear(self, message: dict[str, Any]) -> None:
        for workspace_id, kinds in message.get("workspaces", {}).items():
            self._on_hint(int(workspace_id), kinds)
