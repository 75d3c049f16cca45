"""Asking again: when, after how long, and what the reader of the stream sees of it."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import (
    AuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    ThrottledError,
)
from agents.llm.messages import ChatRequest, Completion, Restarted, TextDelta, UserMessage
from agents.llm.testing.wire_server import Options, running_server
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy
from tests.pace import in_time

from .support import HELLO, collect, complete, model

if TYPE_CHECKING:
    import httpx

    from agents.llm.protocol import ChatModel
    from agents.llm.testing.wire_server import WireServer

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@dataclass
class Naps:
    """Takes the place of sleeping: notes how long, and goes on at once."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def ask(text: str, *, timeout: float = 20.0) -> ChatRequest:
    return ChatRequest("", (UserMessage(text),), timeout_seconds=timeout)


def longest(_low: float, high: float) -> float:
    return high


def retrying(chat_model: ChatModel, naps: Naps, **policy: float) -> RetryingModel:
    return RetryingModel(
        chat_model,
        RetryPolicy(**policy),  # type: ignore[arg-type]
        sleep=naps,
        uniform=longest,
    )


@BOTH
@pytest.mark.parametrize("fault", ["error: 503", "error: 429", "event: overloaded_error"])
async def test_given_a_fault_that_passes_then_the_answer_comes_after_backoff(
    client: httpx.AsyncClient, wire: WireServer, provider: str, fault: str
) -> None:
    naps = Naps()
    chat_model = retrying(model(client, provider=provider, url=wire.url), naps)
    events = await collect(chat_model, ask(f"[[text: Whole.]] [[{fault} times=2]]"))
    restarted = [event for event in events if isinstance(event, Restarted)]
    assert [event.delay_seconds for event in restarted] == naps.seconds == [0.5, 1.0]
    assert f"{provider}:model-x at 127.0.0.1" in restarted[0].reason
    assert isinstance(events[-1], Completion)
    assert events[-1].message.text == "Whole."
    assert wire.stats.requests == 3


@BOTH
async def test_given_a_stream_cut_in_the_middle_then_the_text_is_complete_once_after_restarted(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    chat_model = retrying(model(client, provider=provider, url=wire.url), Naps())
    request = ask("[[tokens: 40]] [[chunks: 20]] [[cut: 1200 times=1]]")
    shown, void = "", ""
    async for event in chat_model.stream(request):
        match event:
            case TextDelta(text):
                shown += text
            case Restarted():
                void, shown = shown, ""
            case Completion(message):
                assert message.text == shown
    assert void
    assert shown.startswith(void)
    assert len(shown.split()) == 40


@BOTH
async def test_retry_after_in_seconds_is_waited_for_within_a_tenth(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    naps = Naps()
    chat_model = RetryingModel(
        model(client, provider=provider, url=wire.url), RetryPolicy(max_delay_ms=100), sleep=naps
    )
    await complete_after_restarts(chat_model, "[[error: 429 retry_after=3 times=3]]")
    assert len(naps.seconds) == 3
    assert all(3.0 <= seconds <= 3.3 for seconds in naps.seconds)
    assert len(set(naps.seconds)) > 1  # spread, so that not all clients come back at once


@BOTH
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_as_a_date_is_waited_for_within_a_tenth(
    client: httpx.AsyncClient, wire: WireServer, provider: str, status: int
) -> None:
    when = (datetime.now(UTC) + timedelta(seconds=8)).replace(microsecond=0)
    date = format_datetime(when, usegmt=True).replace(" ", "_")
    until: list[float] = []

    async def nap(seconds: float) -> None:
        until.append((when - datetime.now(UTC)).total_seconds())
        until.append(seconds)

    chat_model = RetryingModel(
        model(client, provider=provider, url=wire.url), RetryPolicy(), sleep=nap
    )
    await complete_after_restarts(chat_model, f"[[error: {status} retry_after={date} times=1]]")
    left, slept = until
    assert 0 < left <= slept <= left * 1.1 + 0.5  # what passed between reading it and sleeping


@pytest.mark.paced
async def test_a_short_retry_after_is_kept_in_real_time(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    began = time.monotonic()
    chat_model = RetryingModel(model(client, url=wire.url), RetryPolicy())
    await complete_after_restarts(chat_model, "[[error: 429 retry_after=0.4 times=1]]")
    took = time.monotonic() - began
    assert took >= 0.4
    in_time(took, 1.5)


async def complete_after_restarts(chat_model: ChatModel, text: str) -> None:
    assert isinstance((await collect(chat_model, ask(text)))[-1], Completion)


@BOTH
async def test_a_wait_longer_than_a_slot_may_be_held_is_the_error_at_once(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    naps = Naps()
    chat_model = retrying(model(client, provider=provider, url=wire.url), naps, hold_seconds=10)
    with pytest.raises(ModelError) as caught:
        await collect(chat_model, ask("[[error: 429 retry_after=300]]"))
    assert caught.value.retry_after == 300.0
    assert (naps.seconds, wire.stats.requests) == ([], 1)


@BOTH
@pytest.mark.parametrize(
    ("status", "expected"), [(400, RequestRejectedError), (401, AuthenticationError)]
)
async def test_an_error_that_repeating_cannot_mend_is_raised_at_once(
    client: httpx.AsyncClient,
    wire: WireServer,
    provider: str,
    status: int,
    expected: type[ModelError],
) -> None:
    chat_model = retrying(model(client, provider=provider, url=wire.url), Naps())
    with pytest.raises(expected):
        await collect(chat_model, ask(f"[[error: {status} retry_after=1]]"))
    assert wire.stats.requests == 1


async def test_given_a_server_that_comes_up_late_then_it_answers(client: httpx.AsyncClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    come_up, is_up = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        await come_up.wait()
        async with running_server(Options(port=port)):
            is_up.set()
            await asyncio.Event().wait()

    async def nap(_seconds: float) -> None:
        come_up.set()
        await is_up.wait()

    serving = asyncio.create_task(serve())
    chat_model = RetryingModel(
        model(client, url=f"http://127.0.0.1:{port}"), RetryPolicy(), sleep=nap
    )
    events = await collect(chat_model)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert isinstance(events[0], Restarted)
    assert "be reached" in events[0].reason
    assert isinstance(events[-1], Completion)


async def test_given_nobody_listens_then_the_last_error_is_raised_after_all_retries(
    client: httpx.AsyncClient,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    naps = Naps()
    with pytest.raises(ModelConnectionError):
        await collect(retrying(model(client, url=url), naps, max_retries=2))
    assert naps.seconds == [0.5, 1.0]


async def test_backoff_doubles_to_its_limit_with_full_jitter() -> None:
    naps, drawn = Naps(), []

    def draw(low: float, high: float) -> float:
        drawn.append((low, high))
        return (low + high) / 2

    chat_model = RetryingModel(
        ScriptedModel(lambda _request: OverloadedError("busy")),
        RetryPolicy(max_retries=5, base_delay_ms=500, max_delay_ms=3000),
        sleep=naps,
        uniform=draw,
    )
    with pytest.raises(OverloadedError):
        await collect(chat_model)
    assert drawn == [(0.0, high) for high in (0.5, 1.0, 2.0, 3.0, 3.0)]
    assert naps.seconds == [0.25, 0.5, 1.0, 1.5, 1.5]


async def test_attempts_of_an_earlier_slice_count() -> None:
    scripted = ScriptedModel(lambda _request: OverloadedError("busy"))
    request = replace(ask("Hello."), attempts=2)
    with pytest.raises(OverloadedError):
        await collect(retrying(scripted, Naps(), max_retries=3), request)
    assert len(scripted.requests) == 2, "one, and the only retry that is left"


async def test_a_passed_date_names_no_time_so_backoff_counts() -> None:
    naps = Naps()
    scripted = ScriptedModel([RateLimitedError("slow", retry_after=0.0), "Done."])
    await collect(retrying(scripted, naps))
    assert naps.seconds == [0.5]


async def test_backoff_never_holds_a_slot_for_longer_than_allowed() -> None:
    naps = Naps()
    scripted = ScriptedModel([OverloadedError("busy"), "Done."])
    await collect(retrying(scripted, naps, base_delay_ms=20_000, hold_seconds=4))
    assert naps.seconds == [4.0]


async def test_a_call_our_own_limiter_refused_is_passed_on_and_not_tried_again() -> None:
    scripted = ScriptedModel([ThrottledError("wait", retry_after=1.0), "never"])
    with pytest.raises(ThrottledError) as caught:
        await collect(retrying(scripted, Naps()))
    assert caught.value.retry_after == 1.0
    assert len(scripted.requests) == 1


async def test_the_time_limit_counts_over_all_attempts() -> None:
    scripted = ScriptedModel([Reply(delay_seconds=0.05, error=OverloadedError("busy")), "Done."])
    await collect(retrying(scripted, Naps()), replace(HELLO, timeout_seconds=20))
    first, second = (request.timeout_seconds for request in scripted.requests)
    assert first <= 20
    assert second <= first - 0.05


async def test_nothing_is_waited_for_beyond_the_time_limit() -> None:
    naps = Naps()
    scripted = ScriptedModel([RateLimitedError("slow", retry_after=5), "never"])
    with pytest.raises(RateLimitedError):
        await collect(retrying(scripted, naps), replace(HELLO, timeout_seconds=3))
    assert naps.seconds == []


@BOTH
async def test_a_call_that_used_up_its_time_is_not_made_again(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    chat_model = RetryingModel(model(client, provider=provider, url=wire.url), RetryPolicy())
    with pytest.raises(ModelTimeoutError):
        await collect(chat_model, ask("[[hang: stream]]", timeout=0.1))
    assert wire.stats.requests == 1


@BOTH
@pytest.mark.parametrize("fault", ["hang: headers", "hang: stream"])
async def test_cancelling_passes_through_at_once_and_is_not_retried(
    client: httpx.AsyncClient, wire: WireServer, provider: str, fault: str
) -> None:
    chat_model = RetryingModel(model(client, provider=provider, url=wire.url), RetryPolicy())
    task = asyncio.create_task(collect(chat_model, ask(f"[[{fault}]]")))
    async with asyncio.timeout(5):
        while not wire.stats.in_flight:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not wire.stats.disconnected:
            await asyncio.sleep(0)
    assert wire.stats.requests == 1


async def test_cancelling_ends_a_wait() -> None:
    asleep = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    scripted = ScriptedModel([OverloadedError("busy"), "never"])
    task = asyncio.create_task(collect(RetryingModel(scripted, RetryPolicy(), sleep=sleep)))
    await asleep.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(scripted.requests) == 1


@BOTH
async def test_leaving_the_stream_early_closes_the_connection(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    chat_model = RetryingModel(model(client, provider=provider, url=wire.url), RetryPolicy())
    stream = chat_model.stream(ask("[[tokens: 40]] [[chunks: 20]] [[hang: stream]]"))
    async for _event in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(5):
        while not wire.stats.disconnected:
            await asyncio.sleep(0)


async def test_without_faults_nothing_is_added() -> None:
    scripted = ScriptedModel(["Done."])
    chat_model = RetryingModel(scripted, RetryPolicy())
    assert chat_model.name == "scripted:model"
    assert (await complete(chat_model)).message.text == "Done."
