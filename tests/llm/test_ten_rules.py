"""What an adapter must get right, each seen to go wrong in a library; over real connections.

Ten rules, numbered as in the project's notes on models, each for both dialects.
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agents.llm.adapters.endpoint import Timeouts
from agents.llm.client import create_client
from agents.llm.errors import (
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
)
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    TextDelta,
    Thinking,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile
from agents.llm.testing.wire_server import Options, running_server

from .raw_server import STREAM, raw_server
from .samples import (
    ANTHROPIC_COMPLETION,
    ANTHROPIC_STREAM,
    CALLS,
    OPENAI_COMPLETION,
    OPENAI_STREAM,
)
from .support import CLOCK, HELLO, SEARCH, collect, complete, model

if TYPE_CHECKING:
    import httpx

    from agents.llm.testing.wire_server import WireServer

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
SAMPLE = {"openai": OPENAI_STREAM, "anthropic": ANTHROPIC_STREAM}
WHOLE = {"openai": OPENAI_COMPLETION, "anthropic": ANTHROPIC_COMPLETION}
THINKING = {
    "openai": {"type": "message_field", "field": "reasoning_content", "value": "deep thought"},
    "anthropic": {"type": "thinking", "thinking": "deep thought", "signature": "c2ln"},
}


def ask(text: str) -> ChatRequest:
    return ChatRequest("", (UserMessage(text),), timeout_seconds=20)


async def sent_bytes(
    client: httpx.AsyncClient,
    provider: str,
    request: ChatRequest = HELLO,
    profile: Profile | None = None,
) -> bytes:
    """The body that reaches a server for ``request``."""
    async with raw_server(STREAM + SAMPLE[provider]) as server:
        await complete(model(client, provider=provider, url=server.url, profile=profile), request)
    return server.requests[0]


async def sent(client: httpx.AsyncClient, provider: str, *request: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(await sent_bytes(client, provider, *request))
    return body


def answered(provider: str, *, failed: bool = False) -> ChatRequest:
    """A conversation in which the provider's own thinking led to a call."""
    asked = AssistantMessage(
        "", (ToolCall("a", "search", "{}"),), (Thinking(provider, THINKING[provider]),)
    )
    result = ToolMessage("a", "search", "no network", is_error=failed)
    return ChatRequest("", (UserMessage("?"), asked, result), (SEARCH, CLOCK), timeout_seconds=20)


# 1. Errors in one tree.


@BOTH
@pytest.mark.parametrize(
    ("fault", "expected", "retryable", "wait"),
    [
        ("error: 400", RequestRejectedError, False, None),
        ("error: 429 retry_after=7", RateLimitedError, True, 7.0),
        ("error: 503", OverloadedError, True, None),
        ("event: overloaded_error", OverloadedError, True, None),
        ("event: invalid_request_error", RequestRejectedError, False, None),
        ("cut: 400", StreamTruncatedError, True, None),
        ("hang: headers", ModelTimeoutError, True, None),
        ("hang: stream", ModelTimeoutError, True, None),
    ],
)
async def test_1_every_failure_is_an_error_of_ours(
    client: httpx.AsyncClient,
    wire: WireServer,
    provider: str,
    fault: str,
    expected: type[ModelError],
    retryable: bool,  # noqa: FBT001 - a parameter of pytest's
    wait: float | None,
) -> None:
    limit = 0.2 if fault.startswith("hang") else 20  # only what hangs runs into it
    timeouts = Timeouts(limit, limit)
    chat_model = model(client, provider=provider, url=wire.url, timeouts=timeouts)
    with pytest.raises(ModelError) as caught:
        await collect(chat_model, ask(f"[[{fault}]]"))
    assert type(caught.value) is expected
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, wait)


@BOTH
@pytest.mark.parametrize("fault", ["hang: headers", "hang: stream"])
async def test_1_the_whole_call_has_a_limit(
    client: httpx.AsyncClient, wire: WireServer, provider: str, fault: str
) -> None:
    with pytest.raises(ModelTimeoutError, match=r"within 0\.1 seconds"):
        await collect(
            model(client, provider=provider, url=wire.url),
            replace(ask(f"[[{fault}]]"), timeout_seconds=0.1),
        )


@BOTH
async def test_1_a_server_that_does_not_listen_is_a_connection_error(
    client: httpx.AsyncClient, provider: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ModelConnectionError):
        await collect(model(client, provider=provider, url=url))


# 2. Retries are ours: see test_retry.py; the transport makes none.


@BOTH
@pytest.mark.parametrize("fault", ["error: 503", "error: 429 retry_after=0", "cut: 0", "cut: 400"])
async def test_2_the_transport_never_sends_a_request_twice(
    client: httpx.AsyncClient, wire: WireServer, provider: str, fault: str
) -> None:
    chat_model = model(client, provider=provider, url=wire.url)
    await complete(chat_model)  # so that there may be a connection to reuse
    with pytest.raises(ModelError):
        await collect(chat_model, ask(f"[[{fault} times=1]]"))
    assert wire.stats.requests == 2


# 3. Cancelling the task is enough.


@BOTH
async def test_3_cancelling_disconnects_at_once_and_what_came_is_kept(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    received: list[str] = []
    begun = asyncio.Event()

    async def read() -> None:
        request = ask("[[tokens: 40]] [[chunks: 20]] [[hang: stream]]")
        async for event in model(client, provider=provider, url=wire.url).stream(request):
            assert isinstance(event, TextDelta)
            received.append(event.text)
            begun.set()

    task = asyncio.create_task(read())
    async with asyncio.timeout(5):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not wire.stats.disconnected:
            await asyncio.sleep(0)
    assert "".join(received).startswith("The wire server answers")


# 4. One client per process and loop.


@BOTH
def test_4_each_loop_has_its_client_and_none_meets_a_closed_loop(provider: str) -> None:
    async def two_calls() -> int:
        client = create_client()
        async with running_server(Options()) as server:
            first, second = (model(client, provider=provider, url=server.url) for _ in range(2))
            await asyncio.gather(complete(first), complete(second))
            await client.aclose()
            return server.stats.answered

    assert [asyncio.run(two_calls()) for _ in range(3)] == [2, 2, 2]
    gc.collect()  # an unclosed connection of a closed loop would warn now, and warnings are errors


# 5. Arguments are complete only at the end.


@BOTH
async def test_5_parallel_calls_stream_in_pieces_and_are_whole_at_the_end(
    client: httpx.AsyncClient, provider: str
) -> None:
    async with raw_server(STREAM + SAMPLE[provider]) as server:
        events = await collect(model(client, provider=provider, url=server.url))
    pieces = [event for event in events if isinstance(event, ToolCallDelta) and event.index == 0]
    assert len(pieces) > 1
    assert pieces[0].arguments != CALLS[0].arguments
    assert "".join(piece.arguments for piece in pieces) == CALLS[0].arguments
    assert isinstance(events[-1], Completion)
    assert events[-1].message.tool_calls == CALLS


@BOTH
async def test_5_calls_of_the_wire_server_too(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    request = replace(ask('[[calls: search {"q": "x"}, clock {"n": [1]}]]'), tools=(SEARCH, CLOCK))
    answer = await complete(model(client, provider=provider, url=wire.url), request)
    calls = [(call.name, json.loads(call.arguments)) for call in answer.message.tool_calls]
    assert calls == [("search", {"q": "x"}), ("clock", {"n": [1]})]


# 6. Usage means the same everywhere.


@BOTH
async def test_6_input_tokens_include_cached_ones_and_the_raw_figures_are_kept(
    client: httpx.AsyncClient, provider: str
) -> None:
    async with raw_server(STREAM + SAMPLE[provider]) as server:
        answer = await complete(model(client, provider=provider, url=server.url))
    usage = answer.usage
    counted = (usage.input_tokens, usage.output_tokens)
    assert counted == (20, 9)
    assert 0 < usage.cached_input_tokens < 20
    own = {"openai": ("prompt_tokens", 20), "anthropic": ("input_tokens", 10)}[provider]
    assert usage.raw[own[0]] == own[1]
    assert answer.model == f"{provider}:model-x"
    assert usage.raw["model"] in ("gpt-x-2026", "claude-x")


# 7. max_tokens, forced calls, thinking.


@BOTH
async def test_7_the_limit_and_the_stop_sequences_are_always_sent(
    client: httpx.AsyncClient, provider: str
) -> None:
    body = await sent(client, provider, replace(HELLO, stop=("END", "STOP")))
    assert body["max_tokens"] == 4096
    assert body[{"openai": "stop", "anthropic": "stop_sequences"}[provider]] == ["END", "STOP"]


@BOTH
async def test_7_a_forced_call_switches_thinking_off(
    client: httpx.AsyncClient, provider: str
) -> None:
    forced = replace(HELLO, tools=(CLOCK,), tool_choice="required", reasoning_effort="high")
    body = await sent(client, provider, forced, Profile(thinking="adaptive"))
    if provider == "openai":
        assert body["tool_choice"] == "required"
        return
    assert body["tool_choice"] == {"type": "any"}
    assert body["thinking"] == {"type": "disabled"}
    budget = Profile(thinking="budget")
    assert "thinking" not in await sent(client, provider, forced, budget)
    free = replace(forced, tool_choice="auto", max_tokens=32_000)
    assert "thinking" in await sent(client, provider, free, budget)


@BOTH
async def test_7_thinking_goes_back_unchanged_to_its_provider_and_to_no_other(
    client: httpx.AsyncClient, provider: str
) -> None:
    profile = Profile(thinking="adaptive")
    body = await sent(client, provider, answered(provider), profile)
    assistant = next(message for message in body["messages"] if message["role"] == "assistant")
    if provider == "openai":
        assert assistant["reasoning_content"] == "deep thought"
    else:
        assert assistant["content"][0] == THINKING[provider]
    other = {"openai": "anthropic", "anthropic": "openai"}[provider]
    assert b"deep thought" not in await sent_bytes(client, other, answered(provider), profile)


# 8. Prompt caching.


@BOTH
async def test_8_the_same_request_is_the_same_bytes_and_the_cache_is_marked(
    client: httpx.AsyncClient, provider: str
) -> None:
    request = replace(answered(provider), system="Be brief.")
    once, again = [await sent_bytes(client, provider, request) for _ in range(2)]
    assert once == again
    body = json.loads(once)
    names = [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
    assert names == ["search", "clock"]
    if provider == "anthropic":
        marked = {"type": "ephemeral"}
        assert body["tools"][-1]["cache_control"] == marked
        assert body["system"][-1]["cache_control"] == marked
        assert body["messages"][-1]["content"][-1]["cache_control"] == marked
        assert once.count(b"cache_control") == 3


# 9. Failed tools stay failed. That no call is without its result is for the conversation to keep:
#    tests/loop/test_state.py, test_no_prefix_has_an_orphan_call_or_result.


@BOTH
async def test_9_a_failed_result_says_so_and_answers_its_call(
    client: httpx.AsyncClient, provider: str
) -> None:
    failed = await sent(client, provider, answered(provider, failed=True))
    fine = await sent(client, provider, answered(provider))
    last, good = failed["messages"][-1], fine["messages"][-1]
    if provider == "openai":
        assert (last["content"], last["tool_call_id"]) == ("Error: no network", "a")
        assert good["content"] == "no network"
    else:
        assert (last["content"][0]["is_error"], last["content"][0]["tool_use_id"]) == (True, "a")
        assert "is_error" not in good["content"][0]


# 10. The first words, and the last event.


@BOTH
async def test_10_text_in_the_first_event_is_not_lost(
    client: httpx.AsyncClient, provider: str
) -> None:
    async with raw_server(STREAM + SAMPLE[provider]) as server:
        events = await collect(model(client, provider=provider, url=server.url))
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert texts == ["Grü", "ße 🐝 "]
    assert events[-1] == WHOLE[provider]


@BOTH
async def test_10_a_stream_without_the_reason_for_its_end_is_an_error_and_no_answer(
    client: httpx.AsyncClient, provider: str
) -> None:
    final = {"openai": b"data: [DONE]", "anthropic": b"event: message_stop"}[provider]
    cut = SAMPLE[provider].partition(final)[0]
    assert await answer_of(client, provider, cut) == WHOLE[provider]
    reason = {"openai": b'"finish_reason": "', "anthropic": b'"stop_reason": "'}[provider]
    cut = cut.partition(reason)[0]
    with pytest.raises(StreamTruncatedError):
        await answer_of(client, provider, cut[: cut.rindex(b"\n\n") + 2])


async def answer_of(client: httpx.AsyncClient, provider: str, stream: bytes) -> Completion:
    async with raw_server(STREAM + stream) as server:
        return await complete(model(client, provider=provider, url=server.url))
