"""A slice that leaves: what has begun is finished, and nothing begins any more."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from agents.loop.effect_gate import EffectGate


class Slice:
    """What a slice's process sees of it."""

    def __init__(self) -> None:
        self.alive = asyncio.Event()
        self.alive.set()
        self.stops = 0
        self.begun: list[str] = []
        self.standing = EffectGate(self.proven, self.stop)

    async def proven(self) -> None:
        await self.alive.wait()

    def stop(self) -> None:
        self.stops += 1

    async def act(self, name: str, until: asyncio.Event) -> None:
        async with self.standing.effect():
            self.begun.append(name)
            await until.wait()


async def turn_of_the_loop() -> None:
    """Everything that can go on goes on."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def piece() -> Slice:
    return Slice()


async def test_what_has_begun_is_finished_before_the_slice_is_stopped(piece: Slice) -> None:
    ends = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(piece.act("first", ends))
        await turn_of_the_loop()
        piece.standing.drain()
        assert piece.stops == 0
        ends.set()
    assert (piece.begun, piece.stops) == (["first"], 1)


async def test_nothing_begins_in_a_slice_that_leaves(piece: Slice) -> None:
    ends, over = asyncio.Event(), asyncio.Event()
    over.set()
    first = asyncio.create_task(piece.act("first", ends))
    await turn_of_the_loop()
    piece.standing.drain()
    second = asyncio.create_task(piece.act("second", over))
    await turn_of_the_loop()
    assert not second.done()
    ends.set()
    await first
    assert (piece.begun, piece.stops) == (["first"], 1)
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second


async def test_what_waited_for_proof_of_life_does_not_begin_after_all(piece: Slice) -> None:
    piece.alive.clear()
    task = asyncio.create_task(piece.act("late", asyncio.Event()))
    await turn_of_the_loop()
    piece.standing.drain()
    assert piece.stops == 1, "no effect is under way"
    piece.alive.set()
    await turn_of_the_loop()
    assert piece.begun == []
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
