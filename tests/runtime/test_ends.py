"""Waiters for the ends of runs: one connection for all, and nothing is missed without it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from agents.actions.runs import cancel_run
from agents.errors import RunNotFoundError
from agents.live import ends as waiting
from agents.live import valkey_ends
from agents.live.pubsub import InMemoryLiveStream
from agents.live.valkey import ValkeyPublisher, connect
from agents.models import Agent, Run
from agents.runs.live_entries import PUSHED_BYTES, RunEnd, RunEnded, decode_end, encode_end
from heartbit_site.base import orm
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

    from agents.live.ends import Ends
    from heartbit_site.base.models import Workspace

LATE = 20.0  # on a busy machine


@pytest.fixture
async def valkey(database: None) -> AsyncIterator[Redis]:
    client = connect(settings.REDIS_URL)
    yield client
    await client.aclose()


@pytest.fixture
async def run_id(workspace: Workspace) -> UUID:
    """A run that stays queued."""

    def start() -> UUID:
        Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
        return start_run(workspace, "x", agent="writer")

    return await orm.run_in_thread(start)


def succeeded(run_id: UUID, output: str = "Done.") -> RunEnded:
    return RunEnded("succeeded", RunEnd(run_id, "succeeded", output, {"n": 1}, None))


async def listeners(valkey: Redis) -> int:
    connections: Any = await valkey.client_list(_type="pubsub")
    return len([one for one in connections if int(one["sub"])])


async def heard(ends: Ends, run_id: UUID, attended: asyncio.Barrier) -> RunEnd:
    with ends.waiter(run_id) as waiter:
        await waiter.attended()
        await attended.wait()
        return await waiter.end()


async def no_look(*_: object) -> None:
    """Stand for the looks in Postgres, so that only a push can tell."""


async def test_a_thousand_waiters_are_told_by_push_over_one_connection(
    valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting.Ends, "_look", no_look)
    before = await listeners(valkey)
    ends, publisher = valkey_ends.shared(), ValkeyPublisher(valkey)
    runs = [uuid4() for _ in range(1000)]
    attended = asyncio.Barrier(len(runs) + 1)
    waiters = [asyncio.create_task(heard(ends, run, attended)) for run in runs]
    await attended.wait()
    assert await listeners(valkey) == before + 1
    for run in runs:
        publisher.publish(run, succeeded(run))
    async with asyncio.timeout(LATE):
        found = await asyncio.gather(*waiters)
    assert found == [succeeded(run).end for run in runs]


async def test_a_waiter_that_leaves_is_forgotten(valkey: Redis) -> None:
    ends, run = valkey_ends.shared(), uuid4()
    channel = valkey_ends.end_channel(run)
    with ends.waiter(run) as waiter:
        await waiter.attended()
        assert await valkey.pubsub_numsub(channel) == [(channel, 1)]
    async with asyncio.timeout(LATE):
        while await valkey.pubsub_numsub(channel) != [(channel, 0)]:
            await asyncio.sleep(0.02)
    assert not ends._waiting


async def test_a_run_that_another_process_cancels_is_told(
    workspace: Workspace, run_id: UUID
) -> None:
    told = asyncio.create_task(valkey_ends.shared().result(run_id))
    await asyncio.sleep(0.3)
    assert not told.done()
    await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="enough"))
    async with asyncio.timeout(LATE):
        assert (await told).status == "cancelled"


async def test_an_end_before_the_waiter_came_is_found(workspace: Workspace, run_id: UUID) -> None:
    await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="enough"))
    async with asyncio.timeout(LATE):
        assert (await valkey_ends.shared().result(run_id)).status == "cancelled"


async def test_a_lost_connection_is_opened_anew_and_hides_nothing(
    valkey: Redis, workspace: Workspace, run_id: UUID
) -> None:
    ends, other = valkey_ends.shared(), uuid4()
    told = asyncio.create_task(ends.result(run_id))
    with ends.waiter(other) as waiter:
        await waiter.attended()
        await valkey.client_kill_filter(_type="pubsub")
        await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="enough"))
        async with asyncio.timeout(LATE):
            assert (await told).status == "cancelled"
            channel = valkey_ends.end_channel(other)
            while await valkey.pubsub_numsub(channel) != [(channel, 1)]:
                await asyncio.sleep(0.02)
        waiter.told = asyncio.get_running_loop().create_future()  # Postgres knows no such run
        await valkey.publish(channel, encode_end(succeeded(other)))
        async with asyncio.timeout(LATE):
            assert await waiter.end() == succeeded(other).end


async def test_without_valkey_all_waiters_are_looked_up_together(
    workspace: Workspace, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def counted(runs: Any) -> Any:
        looks.append(time.monotonic())
        return original(runs)

    original = waiting.look
    monkeypatch.setattr(waiting, "look", counted)
    client = connect("unix:///nowhere/valkey.sock")
    ends, waiters, spells = valkey_ends.ValkeyEnds(client), 20, 3
    began = time.monotonic()
    told = [asyncio.create_task(ends.result(run_id)) for _ in range(waiters)]
    async with asyncio.timeout(LATE):
        while len(looks) < waiters + spells:
            await asyncio.sleep(0.05)
    assert len(looks) - waiters <= time.monotonic() - began + 1, "one each, then one a second"
    await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="enough"))
    async with asyncio.timeout(LATE):
        found = await asyncio.gather(*told)
    assert {end.status for end in found} == {"cancelled"}
    await client.aclose()


async def test_a_run_that_is_deleted_is_not_waited_for(run_id: UUID) -> None:
    with pytest.raises(RunNotFoundError):
        await valkey_ends.shared().result(uuid4())
    told = asyncio.create_task(valkey_ends.shared().result(run_id))
    await asyncio.sleep(0.3)
    await orm.run_in_thread(lambda: Run.objects.filter(pk=run_id).delete())
    async with asyncio.timeout(LATE):
        with pytest.raises(RunNotFoundError):
            await told


async def test_an_end_too_long_for_a_push_is_read_in_postgres(
    valkey: Redis, workspace: Workspace, run_id: UUID
) -> None:
    long = succeeded(run_id, "x" * (PUSHED_BYTES + 1))
    assert encode_end(long) == ""
    publisher = ValkeyPublisher(valkey)
    told = asyncio.create_task(valkey_ends.shared().result(run_id))
    await asyncio.sleep(0.3)
    await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="enough"))
    publisher.publish(run_id, long)
    async with asyncio.timeout(LATE):
        assert (await told).status == "cancelled", "what Postgres says"


def test_what_is_pushed_is_what_was_said() -> None:
    run = uuid4()
    said = succeeded(run, "Grüße\n")
    assert decode_end(run, encode_end(said)) == said.end
    assert decode_end(run, encode_end(RunEnded("succeeded"))) is None


async def test_the_stream_of_a_process_tells_those_who_come_late_as_well() -> None:
    stream, run = InMemoryLiveStream(), uuid4()
    early = asyncio.create_task(stream.ends.result(run))
    await asyncio.sleep(0)
    stream.publish(run, succeeded(run))
    async with asyncio.timeout(LATE):
        assert await early == await stream.ends.result(run) == succeeded(run).end
