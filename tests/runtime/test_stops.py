"""Stops of slices, when something below swallows the first one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from agents.loop.effect_gate import EffectGate
from agents.runtime.execution.active_run import ActiveRun


async def test_a_stop_that_was_swallowed_is_repeated() -> None:
    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    run = active(task)
    run.stop("drain")
    await asyncio.wait({task}, timeout=0.05)
    assert not task.done(), "it swallowed the stop"
    run.stop("drain")
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()


async def test_a_slice_that_is_being_handed_over_is_not_stopped_again() -> None:
    handed_over = asyncio.Event()

    async def leaving() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            while (task := asyncio.current_task()) is not None and task.uncancel():
                pass
            await handed_over.wait()
        return "handed over"

    task = asyncio.create_task(leaving())
    await asyncio.sleep(0)
    run = active(task)
    run.stop("drain")
    await asyncio.wait({task}, timeout=0.05)
    run.stop("drain")
    handed_over.set()
    assert await task == "handed over"


def active(task: asyncio.Task[Any]) -> ActiveRun:
    nothing = cast("Any", None)

    async def proven() -> None:
        """It lives."""

    gate = EffectGate(proven, task.cancel)
    return ActiveRun(nothing, task, nothing, nothing, nothing, gate)
