"""A Valkey that accepts and says nothing holds nobody up for long."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from redis.exceptions import RedisError

from agents.live.pubsub import START
from agents.live.valkey import PATIENCE_SECONDS, ValkeyPublisher, ValkeySubscriber, connect
from agents.runs.live_entries import RunEnded
from agents.runtime.providers.limiter import ValkeyLimiter
from agents.runtime.providers.valkey_guard import TIMEOUT_SECONDS
from tests.chaos.valkey_server import ValkeyServer
from tests.pace import in_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from pathlib import Path

    from redis.asyncio import Redis

#: What a busy machine adds.
SLACK = 2.0


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    with ValkeyServer(tmp_path / "valkey") as server:
        yield server


async def took(waiting: Awaitable[object]) -> float:
    began = time.monotonic()
    await waiting
    return time.monotonic() - began


async def connected(valkey: ValkeyServer) -> Redis:
    client = connect(valkey.url)
    await client.ping()
    return client


@pytest.mark.chaos
@pytest.mark.paced
def test_a_writer_of_live_output_gives_its_batch_up(valkey: ValkeyServer) -> None:
    async def write() -> float:
        client = await connected(valkey)
        window = ValkeyPublisher(client)
        window.publish(uuid4(), RunEnded("succeeded"))
        with valkey.frozen():
            seconds = await took(window.flush())
        await client.aclose()
        return seconds

    in_time(asyncio.run(write()), PATIENCE_SECONDS + SLACK)


@pytest.mark.chaos
@pytest.mark.paced
def test_a_reader_of_live_output_is_told_to_look_elsewhere(valkey: ValkeyServer) -> None:
    async def read() -> float:
        client = await connected(valkey)
        source = ValkeySubscriber(client)

        async def silent() -> None:
            with pytest.raises((RedisError, OSError)):
                await source.read({uuid4(): START}, timeout=0.1)

        with valkey.frozen():
            seconds = await took(silent())
        await client.aclose()
        return seconds

    in_time(asyncio.run(read()), 0.1 + PATIENCE_SECONDS + SLACK)


@pytest.mark.chaos
@pytest.mark.paced
def test_a_call_waits_for_limits_at_most_a_second(valkey: ValkeyServer) -> None:
    async def ask() -> tuple[float, float]:
        client = await connected(valkey)
        limiter = ValkeyLimiter(client)
        with valkey.frozen():
            first = await took(limiter.pause("a", 0.0))
            second = await took(limiter.pause("a", 0.0))
        await client.aclose()
        return first, second

    first, second = asyncio.run(ask())
    in_time(first, TIMEOUT_SECONDS + SLACK)
    in_time(second, TIMEOUT_SECONDS)  # left alone
