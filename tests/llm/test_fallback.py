"""The next model answers when one cannot; and all wrappers together."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import (
    AuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
    ThrottledError,
)
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    Restarted,
    TextDelta,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile
from agents.llm.wrappers.fallback import FallbackModel
from agents.llm.wrappers.limit import LimitedModel, Limits, LocalLimiter
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy
from heartbit_site.base.errors import ConfigurationError

from .raw_server import STREAM, raw_server
from .samples import ANTHROPIC_STREAM, OPENAI_STREAM
from .support import HELLO, collect, model

if TYPE_CHECKING:
    import httpx

    from agents.llm.protocol import ChatModel
    from agents.llm.testing.wire_server import WireServer

OTHERS = {"openai": "anthropic", "anthropic": "openai"}
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 300\r\n"
    b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
)


@BOTH
async def test_given_the_first_model_is_down_then_the_second_answers_and_says_so(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    async with raw_server(b"") as server:
        down = model(client, provider=provider, url=server.url)
    both = FallbackModel((down, model(client, provider=OTHERS[provider], url=wire.url)))
    assert both.name == f"{provider}:model-x"
    restarted, *_, last = await collect(both)
    assert isinstance(restarted, Restarted)
    assert restarted.delay_seconds == 0.0
    assert f"{provider}:model-x at 127.0.0.1" in restarted.reason
    assert isinstance(last, Completion)
    assert last.model == f"{OTHERS[provider]}:model-x"
    assert last.message.text.startswith("Hello")


@pytest.mark.parametrize(
    "error",
    [
        ModelConnectionError("x"),
        ModelTimeoutError("x"),
        OverloadedError("x"),
        RateLimitedError("x", retry_after=300),
        ThrottledError("x", retry_after=300),
        StreamTruncatedError("x"),
        AuthenticationError("x"),
        ModelNotFoundError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_another_model_may_not_have_goes_to_the_next(error: ModelError) -> None:
    first = ScriptedModel([Reply(text="Hal", error=error)], name="a:one")
    both = FallbackModel((first, ScriptedModel(["Hello."], name="b:two")))
    events = await collect(both)
    assert events[:3] == [TextDelta("Hal"), Restarted("x", 0.0), TextDelta("Hello.")]
    assert isinstance(events[-1], Completion)
    assert (events[-1].model, events[-1].message.text) == ("b:two", "Hello.")


async def test_a_request_that_is_wrong_is_shown_to_nobody_else() -> None:
    second = ScriptedModel(["never"])
    with pytest.raises(RequestRejectedError):
        await collect(FallbackModel((ScriptedModel([RequestRejectedError("bad")]), second)))
    assert second.requests == []


async def test_given_all_fail_then_the_last_one_s_error_is_raised() -> None:
    models = tuple(
        ScriptedModel([error])
        for error in (OverloadedError("1"), ModelTimeoutError("2"), AuthenticationError("3"))
    )
    with pytest.raises(AuthenticationError, match="3"):
        await collect(FallbackModel(models))


async def test_the_time_limit_counts_over_all_models() -> None:
    slow = ScriptedModel([Reply(delay_seconds=0.05, error=OverloadedError("busy"))])
    second = ScriptedModel(["Done."])
    await collect(FallbackModel((slow, second)), replace(HELLO, timeout_seconds=20))
    assert second.requests[0].timeout_seconds <= 20 - 0.05
    slow = ScriptedModel([Reply(delay_seconds=0.05, error=OverloadedError("busy"))])
    with pytest.raises(OverloadedError):
        await collect(FallbackModel((slow, second)), replace(HELLO, timeout_seconds=0.01))


def test_no_models_at_all_is_a_mistake_that_is_named() -> None:
    with pytest.raises(ConfigurationError, match="empty"):
        FallbackModel(())


@BOTH
async def test_thinking_of_the_first_provider_is_not_sent_to_the_second(
    client: httpx.AsyncClient, provider: str
) -> None:
    other = OTHERS[provider]
    secret = "thought-of-the-first"
    blocks = {
        "openai": {"type": "message_field", "field": "reasoning_content", "value": secret},
        "anthropic": {"type": "thinking", "thinking": secret, "signature": "c2ln"},
    }
    calls = (ToolCall("a", "search", "{}"),)
    asked = AssistantMessage("", calls, (Thinking(provider, blocks[provider]),))
    request = ChatRequest(
        "", (UserMessage("?"), asked, ToolMessage("a", "search", "r")), timeout_seconds=20
    )
    answer = STREAM + (ANTHROPIC_STREAM if other == "anthropic" else OPENAI_STREAM)
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    profile = Profile(thinking="adaptive")
    async with raw_server(busy) as first, raw_server(answer) as second:
        both = FallbackModel(
            (
                model(client, provider=provider, url=first.url, profile=profile),
                model(client, provider=other, url=second.url, profile=profile),
            )
        )
        events = await collect(both, request)
    assert isinstance(events[-1], Completion)
    assert secret.encode() in first.requests[0]
    assert secret.encode() not in second.requests[0]
    assert json.loads(second.requests[0])["messages"]


async def test_cancelling_reaches_the_model_that_is_answering(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    first = ScriptedModel([OverloadedError("busy")])
    both = FallbackModel((first, RetryingModel(model(client, url=wire.url), RetryPolicy())))
    request = ChatRequest("", (UserMessage("[[hang: stream]]"),))
    task = asyncio.create_task(collect(both, request))
    async with asyncio.timeout(5):
        while not wire.stats.in_flight:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not wire.stats.disconnected:
            await asyncio.sleep(0)


class TestTogether:
    """Fallback(Retry(Limited(model))), as the product puts them together."""

    @pytest.fixture
    def limiter(self) -> LocalLimiter:
        return LocalLimiter()

    def wrapped(self, chat_model: ChatModel, limiter: LocalLimiter) -> ChatModel:
        async def nap(_seconds: float) -> None:
            await asyncio.sleep(0)

        account = secrets.token_hex(4)
        limited = LimitedModel(chat_model, limiter, account, Limits(60_000, 10_000_000))
        return RetryingModel(limited, RetryPolicy(), sleep=nap)

    @BOTH
    async def test_given_a_server_that_stays_broken_then_retries_come_before_the_next_model(
        self, client: httpx.AsyncClient, wire: WireServer, limiter: LocalLimiter, provider: str
    ) -> None:
        busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        async with raw_server(busy) as server:
            first = self.wrapped(model(client, provider=provider, url=server.url), limiter)
            second = self.wrapped(model(client, provider=OTHERS[provider], url=wire.url), limiter)
            events = await collect(FallbackModel((first, second)))
        assert len(server.requests) == 4
        assert sum(isinstance(event, Restarted) for event in events) == 4
        assert isinstance(events[-1], Completion)
        assert events[-1].model == f"{OTHERS[provider]}:model-x"

    @BOTH
    async def test_given_a_long_429_then_the_next_model_answers_and_the_first_is_left_alone(
        self, client: httpx.AsyncClient, wire: WireServer, limiter: LocalLimiter, provider: str
    ) -> None:
        async with raw_server(BUSY) as server:
            first = self.wrapped(model(client, provider=provider, url=server.url), limiter)
            second = self.wrapped(model(client, provider=OTHERS[provider], url=wire.url), limiter)
            both = FallbackModel((first, second))
            reasons = []
            for _ in range(2):
                restarted, *_, last = await collect(both)
                assert isinstance(restarted, Restarted)
                assert isinstance(last, Completion)
                reasons.append(restarted.reason)
        assert len(server.requests) == 1
        assert "limits the rate" in reasons[0]
        assert "paused for" in reasons[1]
