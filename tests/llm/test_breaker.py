"""The circuit of an account in one process, and the model that keeps to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import (
    AnswerTooLargeError,
    AuthenticationError,
    CircuitOpenError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
    ThrottledError,
)
from agents.llm.messages import Completion, Restarted
from agents.llm.wrappers.breaker import BreakerModel, LocalBreaker
from agents.llm.wrappers.circuit import Circuit
from agents.llm.wrappers.fallback import FallbackModel
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy

from .support import HELLO, Clock, collect, complete

if TYPE_CHECKING:
    from agents.llm.adapters.scripted import Scripted

DOWN = OverloadedError("HTTP 503")


@pytest.fixture
def breaker(clock: Clock) -> LocalBreaker:
    return LocalBreaker(clock=clock)


def guarded(breaker: LocalBreaker, *script: Scripted) -> tuple[ScriptedModel, BreakerModel]:
    scripted = ScriptedModel(list(script))
    model = BreakerModel(scripted, breaker, "acme", uniform=lambda least, _most: least)
    return scripted, model


async def fail(model: BreakerModel, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(ModelError) as caught:
            await collect(model)
        assert not isinstance(caught.value, ThrottledError)


async def refused(model: BreakerModel) -> float:
    with pytest.raises(CircuitOpenError) as caught:
        await collect(model)
    assert caught.value.retry_after is not None
    return caught.value.retry_after


class TestCircuit:
    def test_given_failures_further_apart_than_the_window_then_it_stays_closed(self) -> None:
        circuit = Circuit()
        for number in range(20):
            circuit.failed(number * 7.6, "")
        assert circuit.admit(152.0, "p").wait == 0

    def test_given_five_within_the_window_then_it_opens_longer_each_time_up_to_two_minutes(
        self,
    ) -> None:
        circuit, now, waits = Circuit(), 0.0, []
        for number in range(5):
            circuit.failed(number * 7.0, "")
        now = 28.0
        for _ in range(6):
            wait = circuit.admit(now, "p").wait
            waits.append(wait)
            now += wait
            assert circuit.admit(now, "p").probe == "p"
            circuit.failed(now, "p")
        assert waits == [10, 20, 40, 80, 120, 120]

    def test_given_a_probe_that_never_ends_then_another_one_goes(self) -> None:
        circuit = Circuit(threshold=1)
        circuit.failed(0.0, "")
        assert circuit.admit(10.0, "first").probe == "first"
        assert circuit.admit(11.0, "second").wait == 2.0
        assert circuit.admit(70.0, "second").probe == "second"
        circuit.succeeded("first")
        assert circuit.openings == 1, "who was given up decides nothing"
        circuit.succeeded("second")
        assert circuit.openings == 0


class TestBreakerModel:
    async def test_given_five_failures_in_a_row_then_nothing_is_sent_any_more(
        self, breaker: LocalBreaker, clock: Clock
    ) -> None:
        scripted, model = guarded(breaker, DOWN, DOWN, DOWN, DOWN, DOWN, "Here.")
        await fail(model, 5)
        assert await refused(model) == 10.0
        clock.now += 4
        assert await refused(model) == 6.0
        assert len(scripted.requests) == 5
        clock.now += 6
        assert (await complete(model)).message.text == "Here."
        assert model.name == "scripted:model"

    async def test_given_a_success_among_them_then_the_count_begins_anew(
        self, breaker: LocalBreaker
    ) -> None:
        _, model = guarded(breaker, *[DOWN] * 4, "Here.", *[DOWN] * 5)
        await fail(model, 4)
        await complete(model)
        await fail(model, 5)
        await refused(model)

    @pytest.mark.parametrize(
        ("error", "opens"),
        [
            (OverloadedError("x"), True),
            (ModelConnectionError("x"), True),
            (StreamTruncatedError("x"), True),
            (RateLimitedError("x"), False),
            (RequestRejectedError("x"), False),
            (AuthenticationError("x"), False),
            (AnswerTooLargeError("x"), False),
            (ModelError("x"), False),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
    )
    async def test_only_what_says_the_provider_is_unwell_counts(
        self, breaker: LocalBreaker, error: ModelError, *, opens: bool
    ) -> None:
        _, model = guarded(breaker, *[error] * 5, "Here.")
        await fail(model, 5)
        if opens:
            await refused(model)
        else:
            await complete(model)

    async def test_a_limiter_s_wait_says_nothing_of_the_provider(
        self, breaker: LocalBreaker
    ) -> None:
        _, model = guarded(breaker, *[ThrottledError("wait", retry_after=1)] * 6, "Here.")
        for _ in range(6):
            with pytest.raises(ThrottledError):
                await collect(model)
        await complete(model)

    @pytest.mark.parametrize(("after", "text", "opens"), [(0.02, "", True), (0.02, "Hal", False)])
    async def test_silence_counts_before_the_first_byte_only(
        self, breaker: LocalBreaker, after: float, text: str, *, opens: bool
    ) -> None:
        silent = Reply(text=text, delay_seconds=after, error=ModelTimeoutError("silent"))
        _, model = guarded(breaker, *[silent] * 5, "Here.")
        hasty = HELLO.__class__(HELLO.system, HELLO.messages, timeout_seconds=0.02)
        for _ in range(5):
            with pytest.raises(ModelTimeoutError):
                await collect(model, hasty)
        if opens:
            await refused(model)
        else:
            await complete(model)

    async def test_a_probe_that_is_refused_as_wrong_shows_that_the_provider_is_there(
        self, breaker: LocalBreaker, clock: Clock
    ) -> None:
        _, model = guarded(breaker, *[DOWN] * 5, RequestRejectedError("bad"), "Here.", "Here.")
        await fail(model, 5)
        clock.now += 10
        await fail(model)
        await asyncio.gather(complete(model), complete(model))

    async def test_given_the_probe_fails_then_it_opens_for_twice_as_long(
        self, breaker: LocalBreaker, clock: Clock
    ) -> None:
        _, model = guarded(breaker, *[DOWN] * 6)
        await fail(model, 5)
        clock.now += 10
        await fail(model)
        assert await refused(model) == 20.0

    async def test_given_a_probe_is_cancelled_then_the_next_call_is_one(
        self, breaker: LocalBreaker, clock: Clock
    ) -> None:
        scripted, model = guarded(breaker, *[DOWN] * 5, Reply(text="x", delay_seconds=60), "Here.")
        await fail(model, 5)
        clock.now += 10
        probe = asyncio.create_task(collect(model))
        while len(scripted.requests) < 6:
            await asyncio.sleep(0)
        assert await refused(model) == 2.0
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        assert (await complete(model)).message.text == "Here."

    async def test_given_fifty_callers_then_one_probe_goes(
        self, breaker: LocalBreaker, clock: Clock
    ) -> None:
        scripted, model = guarded(breaker, *[DOWN] * 5, Reply(text="Here.", delay_seconds=0.01))
        await fail(model, 5)
        clock.now += 10
        results = await asyncio.gather(
            *(complete(model) for _ in range(50)), return_exceptions=True
        )
        assert sum(isinstance(result, Completion) for result in results) == 1
        assert sum(isinstance(result, CircuitOpenError) for result in results) == 49
        assert len(scripted.requests) == 6


class TestTogether:
    async def test_an_open_circuit_is_not_retried_and_the_next_model_answers(
        self, breaker: LocalBreaker
    ) -> None:
        scripted, model = guarded(breaker, *[DOWN] * 5)
        await fail(model, 5)
        first = RetryingModel(model, RetryPolicy())
        both = FallbackModel((first, ScriptedModel(["Second."], name="b:two")))
        restarted, *_, last = await collect(both)
        assert isinstance(restarted, Restarted)
        assert "not called for" in restarted.reason
        assert isinstance(last, Completion)
        assert last.model == "b:two"
        assert len(scripted.requests) == 5

    async def test_given_the_others_fail_then_the_soonest_wait_is_what_is_raised(
        self, breaker: LocalBreaker
    ) -> None:
        _, model = guarded(breaker, *[DOWN] * 5)
        await fail(model, 5)
        later = ScriptedModel([ThrottledError("paused", retry_after=60)])
        lost = ScriptedModel([AuthenticationError("no key")])
        with pytest.raises(CircuitOpenError):
            await collect(FallbackModel((later, model, lost)))
