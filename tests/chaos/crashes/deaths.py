"""Kills this process at the boundaries that a run's plan names, each death once.

A death is a file: whoever creates it dies of it. So the workers that follow know of it, and the
scenario knows when it happened.
"""

from __future__ import annotations

import os
import signal
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.journal.events import Event, ModelAnswered, ToolFinished
from agents.loop.journaled import JournaledState
from agents.loop.model_calls import ModelCaller
from agents.loop.ports import Committed
from agents.runs.claims import ClaimedRun
from agents.runs.lease import Lease
from agents.runtime.execution import run_executor
from agents.runtime.toolset.toolbox import RunToolbox
from tests.chaos.crashes.boundary import Boundary, read_plan
from tests.chaos.crashes.wrapping import wrap, wrap_plain
from tools.calls import pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """The deaths that one run still asks for."""

    run: str
    deaths: tuple[Boundary, ...]
    markers: Path

    def passes(self, boundary: Boundary, *, held_too: object = None) -> None:
        """Die here if it is the next death, and nobody died of it before.

        Args:
            boundary: The moment.
            held_too: What was claimed already for the time after the slice.
        """
        for number, death in enumerate(self.deaths):
            marker = self.markers / f"{self.run}.{number}"
            if marker.exists():
                continue
            if death == boundary:
                self._die(marker, held_too)
            return

    def _die(self, marker: Path, held_too: object) -> None:
        try:
            with marker.open("x") as file:
                file.write(repr(time.time()))
        except FileExistsError:
            return  # another worker was quicker
        if isinstance(held_too, ClaimedRun):
            (self.markers / f"{held_too.id}.{marker.name}").write_text(repr(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)


_plan: ContextVar[Plan | None] = ContextVar("plan", default=None)


def _passes(boundary: Boundary, *, held_too: object = None) -> None:
    plan = _plan.get()
    if plan is not None:
        plan.passes(boundary, held_too=held_too)


def install(markers: Path) -> None:
    """Put the boundaries around the product's functions."""

    async def claim(inner: Any, *args: Any, **kwargs: Any) -> Any:
        claimed = await inner(*args, **kwargs)
        _claimed(claimed, markers)
        return claimed

    async def finish(inner: Any, lease: Lease, *args: Any) -> Any:
        _passes(Boundary.FINISHING)
        result = await inner(lease, *args)
        if isinstance(result, Committed):
            _passes(Boundary.FINISHED, held_too=lease.next)
        _claimed(lease.next, markers)
        return result

    async def suspend(inner: Any, lease: Lease, *args: Any, **kwargs: Any) -> Any:
        _passes(Boundary.SUSPENDING)
        result = await inner(lease, *args, **kwargs)
        if isinstance(result, Committed):
            _passes(Boundary.SUSPENDED, held_too=lease.next)
        _claimed(lease.next, markers)
        return result

    wrap(run_executor, "claim", claim)
    wrap(ModelCaller, "call_model", _answering)
    wrap(JournaledState, "record", _recording)
    wrap_plain(JournaledState, "record_here", _recording_here)
    wrap(JournaledState, "transact", _transacting)
    wrap(RunToolbox, "execute", _executing)
    wrap(pipeline, "_on_loop", _acting)
    wrap_plain(pipeline, "execute_here", _acting_here)
    wrap(Lease, "suspend", suspend)
    wrap(Lease, "finish", finish)


def _claimed(claimed: object, markers: Path) -> None:
    if isinstance(claimed, ClaimedRun):  # in the slice's own task, so the whole slice has the plan
        deaths = read_plan(claimed.journal[0]["payload"]["task"])
        _plan.set(Plan(str(claimed.id), deaths, markers))
        _passes(Boundary.CLAIMED)


async def _answering(inner: Any, *args: Any) -> Any:
    _passes(Boundary.ASKING)
    answered = await inner(*args)
    _passes(Boundary.ANSWERED)
    return answered


async def _recording(inner: Any, state: JournaledState[Any], *events: Event) -> None:
    await inner(state, *events)
    if any(isinstance(event, ModelAnswered) for event in events):
        _passes(Boundary.ANSWER_JOURNALED)
    if any(isinstance(event, ToolFinished) for event in events):
        _passes(Boundary.RESULT_JOURNALED)


def _recording_here(inner: Any, state: JournaledState[Any], *events: Event) -> bool:
    is_written: bool = inner(state, *events)
    if any(isinstance(event, ToolFinished) for event in events):
        _passes(Boundary.RESULT_JOURNALED)
    return is_written


async def _transacting(
    inner: Any, state: JournaledState[Any], body: Callable[[], Event], **kwargs: Any
) -> None:
    plan = _plan.get()

    def planned() -> Event:  # in a thread, which has no context of the slice
        _plan.set(plan)
        try:
            return body()
        finally:
            _plan.set(None)

    _passes(Boundary.INTENDING)
    await inner(state, planned, **kwargs)
    _passes(Boundary.RESULT_JOURNALED)


async def _executing(inner: Any, *args: Any) -> Any:
    _passes(Boundary.INTENDING)
    return await inner(*args)


async def _acting(inner: Any, *args: Any) -> Any:
    _passes(Boundary.ACTING)
    done = await inner(*args)
    _passes(Boundary.ACTED)
    return done


def _acting_here(inner: Any, *args: Any, **kwargs: Any) -> Any:
    _passes(Boundary.ACTING)
    done = inner(*args, **kwargs)
    _passes(Boundary.ACTED)
    return done
