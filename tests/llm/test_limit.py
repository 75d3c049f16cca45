"""Limits of an account in one process, and the model that keeps to them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import (
    ModelConnectionError,
    OverloadedError,
    RateLimitedError,
    ThrottledError,
)
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from agents.llm.wrappers.estimate import estimate_tokens
from agents.llm.wrappers.limit import LimitedModel, Limits, LocalLimiter
from heartbit_site.base.errors import ConfigurationError

from .support import CLOCK, HELLO, Clock, collect, complete, model

if TYPE_CHECKING:
    import httpx

    from agents.llm.adapters.scripted import Scripted
    from agents.llm.testing.wire_server import WireServer

ONE_A_SECOND = Limits(60, None)
TOKENS = Limits(None, 6000)  # a hundred a second
NONE = Limits(None, None)


@pytest.fixture
def limiter(clock: Clock) -> LocalLimiter:
    return LocalLimiter(clock=clock)


def limited(
    script: list[Scripted], limiter: LocalLimiter, clock: Clock, limits: Limits
) -> tuple[ScriptedModel, LimitedModel]:
    scripted = ScriptedModel(script)
    return scripted, LimitedModel(scripted, limiter, "acme", limits, sleep=clock.sleep)


class TestLocalLimiter:
    async def test_requests_are_spaced(self, limiter: LocalLimiter) -> None:
        waits = [await limiter.reserve("a", ONE_A_SECOND, 0, max_wait=9) for _ in range(4)]
        assert waits == [0.0, 1.0, 2.0, 3.0]

    async def test_accounts_do_not_share(self, limiter: LocalLimiter) -> None:
        await limiter.reserve("a", ONE_A_SECOND, 0, max_wait=9)
        assert await limiter.reserve("b", ONE_A_SECOND, 0, max_wait=9) == 0.0

    async def test_a_large_account_lets_a_second_s_worth_go_at_once(
        self, limiter: LocalLimiter
    ) -> None:
        waits = [await limiter.reserve("a", Limits(600), 0, max_wait=9) for _ in range(12)]
        assert waits[:10] == pytest.approx([0.0] * 10)
        assert waits[10:] == pytest.approx([0.1, 0.2])

    async def test_a_minute_s_tokens_may_go_at_once_then_they_come_back_slowly(
        self, limiter: LocalLimiter
    ) -> None:
        assert await limiter.reserve("a", TOKENS, 6000, max_wait=9) == 0.0
        assert await limiter.reserve("a", TOKENS, 500, max_wait=9) == 5.0

    async def test_what_is_too_far_away_is_not_reserved(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        await limiter.reserve("a", TOKENS, 6000, max_wait=9)
        assert await limiter.reserve("a", TOKENS, 3000, max_wait=9) == 30.0
        assert await limiter.reserve("a", TOKENS, 100, max_wait=9) == 1.0
        clock.now += 31
        assert await limiter.reserve("a", TOKENS, 3000, max_wait=9) == 0.0

    async def test_a_request_larger_than_the_limit_goes_when_the_account_is_full(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        assert await limiter.reserve("a", TOKENS, 9000, max_wait=9) == 0.0
        clock.now += 30
        assert await limiter.reserve("a", TOKENS, 100, max_wait=9) == 1.0

    async def test_a_settlement_gives_back_or_takes_more(self, limiter: LocalLimiter) -> None:
        await limiter.reserve("a", TOKENS, 6000, max_wait=9)
        await limiter.settle("a", TOKENS, reserved=6000, used=5000)
        assert await limiter.reserve("a", TOKENS, 1000, max_wait=9) == 0.0
        await limiter.settle("a", TOKENS, reserved=1000, used=1200)
        assert await limiter.reserve("a", TOKENS, 100, max_wait=9) == pytest.approx(3.0)

    async def test_a_pause_holds_everybody_and_the_spacing_goes_on_after_it(
        self, limiter: LocalLimiter
    ) -> None:
        await limiter.pause("a", 5)
        await limiter.pause("a", 2)
        assert await limiter.reserve("a", NONE, 0, max_wait=9) == 5.0
        waits = [await limiter.reserve("a", ONE_A_SECOND, 0, max_wait=9) for _ in range(3)]
        assert waits == [5.0, 6.0, 7.0]


@pytest.mark.parametrize("limit", [0, -5])
def test_a_limit_that_lets_nobody_go_is_a_mistake_that_is_named(limit: int) -> None:
    with pytest.raises(ConfigurationError, match=f"is {limit} a minute"):
        Limits(limit)
    with pytest.raises(ConfigurationError, match="at least"):
        Limits(None, limit)


class TestLimitedModel:
    async def test_calls_wait_their_turn(self, limiter: LocalLimiter, clock: Clock) -> None:
        scripted, chat_model = limited(["a", "b", "c"], limiter, clock, ONE_A_SECOND)
        for _ in range(3):
            await complete(chat_model)
        assert clock.now == 1002.0
        # The wait is part of the call's time.
        assert [request.timeout_seconds for request in scripted.requests] == [20, 19, 19]
        assert chat_model.name == "scripted:model"

    async def test_a_wait_longer_than_may_be_held_is_throttled_and_nothing_is_sent(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        scripted, chat_model = limited(["never"], limiter, clock, NONE)
        await limiter.pause("acme", 42)
        with pytest.raises(ThrottledError, match=r"acme of scripted:model .* 42\.0 seconds") as got:
            await collect(chat_model)
        assert got.value.retry_after == 42.0
        assert got.value.retryable
        assert scripted.requests == []

    async def test_a_wait_longer_than_the_call_may_take_is_throttled(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        _, chat_model = limited(["never"], limiter, clock, NONE)
        await limiter.pause("acme", 5)
        with pytest.raises(ThrottledError):
            await collect(chat_model, replace(HELLO, timeout_seconds=4))

    @pytest.mark.parametrize(("named", "paused"), [(7.0, 7.0), (None, 1.0)])
    async def test_a_rate_limit_pauses_the_account(
        self, limiter: LocalLimiter, clock: Clock, named: float | None, paused: float
    ) -> None:
        _, chat_model = limited([RateLimitedError("slow", retry_after=named)], limiter, clock, NONE)
        with pytest.raises(RateLimitedError):
            await collect(chat_model)
        assert await limiter.reserve("acme", NONE, 0, max_wait=9) == paused

    async def test_another_error_pauses_nobody(self, limiter: LocalLimiter, clock: Clock) -> None:
        _, chat_model = limited([OverloadedError("busy", retry_after=7)], limiter, clock, NONE)
        with pytest.raises(OverloadedError):
            await collect(chat_model)
        assert await limiter.reserve("acme", NONE, 0, max_wait=9) == 0.0

    async def test_the_real_usage_replaces_the_estimate(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        _, chat_model = limited([Reply(text="x", usage=Usage(900, 100))], limiter, clock, TOKENS)
        await complete(chat_model, replace(HELLO, max_tokens=5000))
        assert await limiter.reserve("acme", TOKENS, 5000, max_wait=9) == 0.0
        assert await limiter.reserve("acme", TOKENS, 100, max_wait=9) == pytest.approx(1.0)

    async def test_without_reported_usage_the_estimate_stays(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        _, chat_model = limited([Reply(text="x", usage=Usage())], limiter, clock, TOKENS)
        request = replace(HELLO, max_tokens=5000)
        await complete(chat_model, request)
        left = 6000 - estimate_tokens(request)
        assert await limiter.reserve("acme", TOKENS, left, max_wait=9) == pytest.approx(0.0)
        assert await limiter.reserve("acme", TOKENS, 100, max_wait=9) == pytest.approx(1.0)

    async def test_an_absurd_usage_costs_no_more_than_a_minute(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        reply = Reply(text="x", usage=Usage(2**31 - 1, 2**31 - 1))
        _, chat_model = limited([reply], limiter, clock, TOKENS)
        await complete(chat_model, replace(HELLO, max_tokens=100))
        assert await limiter.reserve("acme", TOKENS, 6000, max_wait=90) == pytest.approx(60, abs=1)

    async def test_an_attempt_that_got_no_answer_is_refunded(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        _, chat_model = limited([ModelConnectionError("gone")], limiter, clock, TOKENS)
        with pytest.raises(ModelConnectionError):
            await collect(chat_model, replace(HELLO, max_tokens=5000))
        assert await limiter.reserve("acme", TOKENS, 6000, max_wait=9) == pytest.approx(0.0)

    async def test_an_attempt_that_broke_off_keeps_its_reservation(
        self, limiter: LocalLimiter, clock: Clock
    ) -> None:
        broken = Reply(text="Hal", error=OverloadedError("busy"))
        _, chat_model = limited([broken], limiter, clock, TOKENS)
        with pytest.raises(OverloadedError):
            await collect(chat_model, replace(HELLO, max_tokens=6000))
        assert await limiter.reserve("acme", TOKENS, 100, max_wait=9) > 1.0

    async def test_cancelling_ends_the_wait(self, limiter: LocalLimiter) -> None:
        asleep = asyncio.Event()

        async def sleep(_seconds: float) -> None:
            asleep.set()
            await asyncio.Event().wait()

        scripted = ScriptedModel(["never"])
        await limiter.pause("acme", 5)
        chat_model = LimitedModel(scripted, limiter, "acme", NONE, sleep=sleep)
        task = asyncio.create_task(collect(chat_model))
        await asleep.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert scripted.requests == []

    @pytest.mark.parametrize("provider", ["openai", "anthropic"])
    async def test_a_429_on_the_wire_holds_the_next_call(
        self,
        client: httpx.AsyncClient,
        wire: WireServer,
        limiter: LocalLimiter,
        clock: Clock,
        provider: str,
    ) -> None:
        chat_model = LimitedModel(
            model(client, provider=provider, url=wire.url), limiter, "a", NONE, sleep=clock.sleep
        )
        refused = ChatRequest("", (UserMessage("[[error: 429 retry_after=3]]"),))
        with pytest.raises(RateLimitedError):
            await collect(chat_model, refused)
        began = clock.now
        await complete(chat_model)
        assert clock.now - began == 3.0


def test_the_estimate_counts_prompt_tools_conversation_and_the_answer() -> None:
    assert estimate_tokens(ChatRequest("", (), max_tokens=10)) == 10
    call = ToolCall("id", "four", "1234")
    messages = (
        UserMessage("x" * 400),
        AssistantMessage("x" * 40, (call,)),
        ToolMessage("id", "four", "x" * 395),
    )
    assert estimate_tokens(ChatRequest("x" * 160, messages, max_tokens=50)) == 250 + 1 + 50
    with_tool = ChatRequest("", (), (CLOCK,), max_tokens=1)
    assert estimate_tokens(with_tool) > 10
