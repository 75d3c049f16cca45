"""Publishes every message of a queue again, later and in any order."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kombu.transport.redis import Channel
from kombu.utils.json import dumps
from redis import Redis
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: With the original each message comes three times.
COPIES = 2
#: The queues that are meant begin so; Celery's own messages are left alone.
PREFIX = "chaos-"


class Copier(threading.Thread):
    """Sends copies when their time has come; what is left when the process ends is not sent.

    Args:
        url: Of the Valkey the messages go to.
        longest: Seconds within which a copy follows, at random.
    """

    def __init__(self, url: str, *, longest: float) -> None:
        super().__init__(name="copier", daemon=True)
        self._valkey = Redis.from_url(url)
        self._longest = longest
        self._due: list[tuple[float, int, str, str]] = []
        self._order = itertools.count()
        self._change = threading.Condition()
        self._dice = random.Random()  # noqa: S311  which process draws what is open anyway

    def copy(self, key: str, message: str) -> None:
        """Have a message that is being published published again."""
        now = time.monotonic()
        with self._change:
            for _ in range(COPIES):
                due = now + self._dice.uniform(0.0, self._longest)
                heapq.heappush(self._due, (due, next(self._order), key, message))
            self._change.notify()

    def run(self) -> None:
        """Work for as long as the process lives."""
        while True:
            with self._change:
                if not self._due:
                    self._change.wait()
                    continue
                left = self._due[0][0] - time.monotonic()
                if left > 0:
                    self._change.wait(left)
                    continue
                _, _, key, message = heapq.heappop(self._due)
            try:
                both = self._valkey.pipeline()
                both.lpush(key, message)
                both.incr(f"copies:{key}")
                both.execute()
            except RedisError:
                continue  # a copy less


def install(url: str, *, longest: float) -> Any:
    """From now on copy what this process publishes; the function that was replaced."""
    copier = Copier(url, longest=longest)
    copier.start()
    channels: Any = Channel
    original = channels._put

    def put(channel: Any, queue: str, message: Any, **options: Any) -> None:
        original(channel, queue, message, **options)
        if queue.startswith(PREFIX):
            key = channel._q_for_pri(queue, channel._get_message_priority(message, reverse=False))
            copier.copy(key, dumps(message))

    channels._put = put
    return original


@contextmanager
def installed(url: str, *, longest: float) -> Iterator[None]:
    """Copy for the length of the block."""
    channels: Any = Channel
    original = install(url, longest=longest)
    try:
        yield
    finally:
        channels._put = original
