"""Live output over Valkey: coalesced, replayed from the beginning, never the truth."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from agents.live.follow import follow, wait_for_end
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate
from agents.live.valkey import (
    READ_ENTRIES,
    ValkeyPublisher,
    ValkeySubscriber,
    coalesce,
    connect,
    stream_key,
)
from agents.runs.live_entries import Delta, Entry, JournalAdvanced, Progress, RunEnded
from heartbit_site.base import orm
from tests.runtime.test_fleet import TEAM, submit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

    from tests.fleet import Worker
    from tests.runtime.test_fleet import Submit

__all__ = ["submit"]

RUN = uuid4()


@pytest.fixture
async def valkey(database: None) -> AsyncIterator[Redis]:
    client = connect(settings.REDIS_URL)
    yield client
    await client.aclose()


def joined(entries: list[Entry]) -> list[Entry]:
    return [entry for _, entry in coalesce([(RUN, entry) for entry in entries])]


class TestCoalescing:
    def test_deltas_that_continue_each_other_become_one(self) -> None:
        assert joined(
            [Delta(1, 7, 0, "Hel"), Delta(1, 7, 3, "lo"), JournalAdvanced(3), JournalAdvanced(4)]
        ) == [
            Delta(1, 7, 0, "Hello"),
            JournalAdvanced(4),
        ]

    def test_a_repeated_call_stays_apart(self) -> None:
        entries: list[Entry] = [Delta(1, 7, 0, "Hel"), Delta(1, 8, 0, "Hello")]
        assert joined(entries) == entries

    def test_runs_do_not_mix(self) -> None:
        other = UUID(int=1)
        batch: list[tuple[UUID, Entry]] = [
            (RUN, Delta(1, 7, 0, "a")),
            (other, Delta(1, 7, 0, "x")),
            (RUN, Delta(1, 7, 1, "b")),
        ]
        assert coalesce(batch) == [(RUN, Delta(1, 7, 0, "ab")), (other, Delta(1, 7, 0, "x"))]


async def test_what_is_put_is_read_from_any_cursor(valkey: Redis) -> None:
    window, source, run_id = ValkeyPublisher(valkey), ValkeySubscriber(valkey), uuid4()
    for entry in (
        *(Delta(1, 7, 0, "Hé\n"), Progress("1.0", "Half."), JournalAdvanced(3)),
        RunEnded("succeeded"),
    ):
        window.publish(run_id, entry)
        await window.flush()
    read = await source.read({run_id: ""}, timeout=1)
    assert [entry for _, _, entry in read] == [
        Delta(1, 7, 0, "Hé\n"),
        Progress("1.0", "Half."),
        JournalAdvanced(3),
        RunEnded("succeeded"),
    ]
    after_first = await source.read({run_id: read[0][1]}, timeout=1)
    assert [entry for _, _, entry in after_first] == [entry for _, _, entry in read[1:]]
    assert await valkey.ttl(stream_key(run_id)) > 0, "a stream goes away by itself"
    assert await source.read({run_id: read[-1][1]}, timeout=0.01) == []


async def test_what_comes_while_a_batch_is_on_its_way_follows_it(valkey: Redis) -> None:
    window, source, run_id = ValkeyPublisher(valkey), ValkeySubscriber(valkey), uuid4()
    put: list[Entry] = []
    for attempt in range(20):
        put += [Delta(1, attempt, 0, "a"), RunEnded("succeeded")]
        window.publish(run_id, put[-2])
        window.publish(run_id, put[-1])  # which is written at once
        await asyncio.sleep(0)
    window.publish(run_id, JournalAdvanced(9))  # which nothing hurries
    read: list[Entry] = []
    cursor = ""
    while len(read) < len(put) + 1:
        entries = await source.read({run_id: cursor}, timeout=5)
        read += [entry for _, _, entry in entries]
        cursor = entries[-1][1]
    assert read == [*put, JournalAdvanced(9)]


async def test_a_wide_tree_is_read_evenly_and_in_several_reads(valkey: Redis) -> None:
    window, source, count = ValkeyPublisher(valkey), ValkeySubscriber(valkey), 250
    cursors = {uuid4(): "" for _ in range(60)}
    for run_id in cursors:
        for attempt in range(count):
            window.publish(run_id, Delta(1, attempt, 0, "a"))
        await window.flush()
    seen: dict[UUID, list[int]] = {run_id: [] for run_id in cursors}
    reads = 0
    while entries := await source.read(cursors, timeout=0.1):
        reads += 1
        assert len(entries) <= READ_ENTRIES
        assert {run_id for run_id, _, _ in entries} == set(cursors)
        for run_id, cursor, entry in entries:
            assert isinstance(entry, Delta)
            cursors[run_id] = cursor
            seen[run_id].append(entry.attempt)
    assert reads > 1
    assert all(attempts == list(range(count)) for attempts in seen.values())


async def test_an_absent_valkey_costs_the_view_and_nothing_else() -> None:
    client = connect("unix:///nowhere/valkey.sock")
    window = ValkeyPublisher(client)
    window.publish(RUN, RunEnded("succeeded"))
    await window.flush()
    await client.aclose()


async def test_a_late_reader_sees_the_whole_tree_once_and_in_order(
    submit: Submit, worker: Worker, valkey: Redis
) -> None:
    source = ValkeySubscriber(valkey)
    run_id = await orm.run_in_thread(lambda: submit(TEAM))
    live = [update async for update in follow(run_id, source)]
    late = [update async for update in follow(run_id, source)]
    for updates in (live, late):
        seqs: dict[UUID, list[int]] = {}
        for update in updates:
            if isinstance(update, EventUpdate):
                seqs.setdefault(update.run_id, []).append(update.recorded.seq)
        assert len(seqs) == 4
        assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seqs.values())
    text = "".join(
        update.delta.text
        for update in live
        if isinstance(update, DeltaUpdate) and update.run_id == run_id
    )
    assert text == "All together."
    assert any(isinstance(update, RunUpdate) for update in late)
    assert (await wait_for_end(run_id, source)).status == "succeeded"
