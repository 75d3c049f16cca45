"""Model calls wait while the loop is behind with other work."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from agents.llm.messages import ChatRequest, Restarted, UserMessage
from agents.llm.wrappers import pace as module
from agents.llm.wrappers.pace import Pace, PacedModel
from tests.pace import within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.llm.messages import StreamEvent


class Counting:
    """A model that answers nothing, and counts its calls."""

    name = "test:counting"

    def __init__(self) -> None:
        self.begun = 0

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        self.begun += 1
        nothing: tuple[StreamEvent, ...] = ()
        for event in nothing:
            yield event


async def call(model: PacedModel) -> None:
    async for _ in model.stream(ChatRequest("", (UserMessage("Hello."),), max_tokens=1)):
        pass


class Busy:
    """A loop that is behind: each of its passes takes longer than it may, until it is released."""

    def __init__(self) -> None:
        self.now = 0.0
        self.behind = True
        self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while self.behind:
            self.now += module.BEHIND_SECONDS * 2
            await asyncio.sleep(0)


@pytest.mark.paced
async def test_a_loop_that_keeps_up_starts_calls_at_once() -> None:
    model = Counting()
    with within(5):
        await asyncio.gather(
            *(call(PacedModel(model, Pace(clock=lambda: 0.0))) for _ in range(100))
        )
    assert model.begun == 100


async def test_a_loop_that_is_behind_starts_none_until_it_has_caught_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST_SECONDS", 1e9)
    model, busy = Counting(), Busy()
    pace = Pace(clock=lambda: busy.now)
    calls = asyncio.gather(*(call(PacedModel(model, pace)) for _ in range(3)))
    for _ in range(50):
        await asyncio.sleep(0)
    assert model.begun == 0
    busy.behind = False
    await calls
    assert model.begun == 3


async def test_a_loop_that_never_catches_up_starts_one_after_the_other() -> None:
    model, busy = Counting(), Busy()
    pace = Pace(clock=lambda: busy.now)
    await asyncio.gather(*(call(PacedModel(model, pace)) for _ in range(3)))
    assert busy.now > 3 * module.LONGEST_SECONDS
    busy.behind = False


async def test_a_call_that_is_given_up_leaves_the_others_their_turn() -> None:
    model, busy = Counting(), Busy()
    pace = Pace(clock=lambda: busy.now)
    first = asyncio.create_task(call(PacedModel(model, pace)))
    second = asyncio.create_task(call(PacedModel(model, pace)))
    await asyncio.sleep(0)
    first.cancel()
    busy.behind = False
    await second
    assert first.cancelled()
    assert model.begun == 1


class Unending(Counting):
    """A model that never answers; ``at`` has the times at which its calls began."""

    def __init__(self) -> None:
        super().__init__()
        self.at: list[float] = []

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        self.at.append(asyncio.get_running_loop().time())
        await asyncio.Event().wait()
        yield Restarted("", 0)


async def begun(model: Unending, pace: Pace, count: int) -> list[float]:
    """Start calls together; return the times at which they began, and cancel them."""
    calls = [asyncio.create_task(call(PacedModel(model, pace))) for _ in range(count)]
    async with asyncio.timeout(30):
        while len(model.at) < count:
            await asyncio.sleep(0)
    for one in calls:
        one.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    return model.at


async def test_calls_beyond_a_few_start_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CALLS_AT_ONCE", 3)
    monkeypatch.setattr(module, "USUAL_INTERVAL", 0.02)
    *first, before, fourth, fifth = await begun(Unending(), Pace(), 5)
    assert len(first) == 2
    assert fourth - before > 0.015
    assert fifth - fourth > 0.015


async def test_answers_on_their_way_into_the_journal_count_as_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CALLS_AT_ONCE", 3)
    monkeypatch.setattr(module, "USUAL_INTERVAL", 0.02)
    pace = Pace()
    with ExitStack() as answers:
        for _ in range(3):
            answers.enter_context(pace.journaling())
        before, after = await begun(Unending(), pace, 2)
    assert after - before > 0.015


@pytest.mark.parametrize(("backlog", "is_longer"), [(True, True), (False, False)])
def test_the_interval_follows_the_journal(*, backlog: bool, is_longer: bool) -> None:
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    before = pace.interval
    with ExitStack() as others:
        for _ in range(module.BACKLOG if backlog else 0):
            others.enter_context(pace.journaling())
        for _ in range(50):
            now[0] += 1.0  # as long as can be
            with pace.journaling():
                pass
        assert (pace.interval > before) == is_longer
        assert 0 < pace.interval <= module.LONGEST_INTERVAL
