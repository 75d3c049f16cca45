"""The bridge at the wire: three SDKs against a real HTTP server."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from agents.llm import factory
from agents.llm.adapters.endpoint import Timeouts
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
)
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    UserMessage,
)
from tests.llm.bridge_support import bridged, needs_extra
from tests.llm.raw_server import STREAM, raw_server
from tests.llm.samples import chunk, sse
from tests.llm.support import CLOCK, SEARCH, collect, complete

if TYPE_CHECKING:
    import httpx

    from agents.llm.testing.wire_server import WireServer

pytestmark = needs_extra

SDKS = ("together", "mistral", "groq")
CALLS = '[[calls: search {"q": "bées"}, clock {}]]'


@pytest.fixture(autouse=True)
def groq_path(client: httpx.AsyncClient) -> None:
    """Groq's SDK, which sends over the process's client, adds a path the wire server has not."""

    async def strip(request: httpx.Request) -> None:
        request.url = request.url.copy_with(path=request.url.path.removeprefix("/openai"))

    client.event_hooks = {"request": [strip]}


def ask(text: str, **options: Any) -> ChatRequest:
    return ChatRequest("Be brief.", (UserMessage(text),), **{"timeout_seconds": 20, **options})


@pytest.mark.parametrize("provider", SDKS)
async def test_given_text_then_its_deltas_add_up_to_the_answer(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = bridged(client, wire.url, provider=provider)
    events = await collect(model, ask("[[text: Grüße 🐝 and more]]"))
    completion = events[-1]
    assert isinstance(completion, Completion)
    shown = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(shown) == completion.message.text == "Grüße 🐝 and more"
    assert len(shown) > 1
    assert completion.finish_reason == "stop"
    assert completion.model == model.name == f"{provider}:model-x"


@pytest.mark.parametrize("provider", ["together", "mistral"])
async def test_given_usage_then_it_is_the_servers(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    usage = (await complete(bridged(client, wire.url, provider=provider), ask("Hello"))).usage
    assert usage.input_tokens == wire.stats.prompt_tokens > 0
    assert usage.output_tokens == wire.stats.completion_tokens > 0
    assert usage.raw["input_tokens"] == usage.input_tokens


@pytest.mark.parametrize("provider", ["together", "groq"])
async def test_given_interleaved_parallel_calls_then_both_are_whole(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = bridged(client, wire.url, provider=provider)
    events = await collect(model, ask(CALLS, tools=(SEARCH, CLOCK)))
    completion = events[-1]
    assert isinstance(completion, Completion)
    search, clock = completion.message.tool_calls
    assert (search.name, search.arguments) == ("search", '{"q":"bées"}')
    assert (clock.name, clock.arguments) == ("clock", "{}")
    assert search.id != clock.id
    assert completion.finish_reason == "tool_calls"
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert {delta.index: delta.name for delta in deltas} == {0: "search", 1: "clock"}
    assert "".join(delta.arguments for delta in deltas if not delta.index) == search.arguments


@pytest.mark.parametrize("provider", SDKS)
async def test_given_calls_and_results_then_the_conversation_goes_on(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    calls = (ToolCall("call_a", "search", '{"q": "x"}'), ToolCall("call_b", "clock", "{}"))
    messages = (
        UserMessage(CALLS),
        AssistantMessage("Wait.", calls),
        ToolMessage("call_a", "search", "found"),
        ToolMessage("call_b", "clock", "no clock", is_error=True),
    )
    request = ChatRequest("", messages, tools=(SEARCH, CLOCK), timeout_seconds=20)
    completion = await complete(bridged(client, wire.url, provider=provider), request)
    assert completion.message.text == "Answered after 2 tool results."


async def test_given_reasoning_then_it_is_shown_and_kept(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    events = await collect(bridged(client, wire.url), ask("[[thinking: Hmm.]] x"))
    completion = events[-1]
    assert isinstance(completion, Completion)
    assert events[0] == ThinkingDelta("Hmm.")
    (thinking,) = completion.message.thinking
    assert thinking.provider == "together"
    assert thinking.block["content"] == "Hmm."
    assert None not in thinking.block.values()


async def test_given_thoughts_in_the_text_then_they_are_no_part_of_the_answer(
    client: httpx.AsyncClient,
) -> None:
    pieces = ("<thi", "nk>\nHmm.\n</th", "ink>\n\n", "Six.")
    stream = sse(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"), "[DONE]")
    async with raw_server(STREAM + stream) as server:
        *deltas, completion = await collect(bridged(client, server.url), ask("How many?"))
    assert isinstance(completion, Completion)
    assert deltas == [ThinkingDelta("\nHmm.\n"), TextDelta("Six.")]
    assert completion.message.text == "Six."
    assert [thinking.block["content"] for thinking in completion.message.thinking] == ["\nHmm.\n"]


async def test_given_an_answer_of_which_the_provider_dropped_a_part_then_it_is_none(
    client: httpx.AsyncClient,
) -> None:
    stream = sse(chunk({"content": "I look."}), chunk({}, "MALFORMED_FUNCTION_CALL"), "[DONE]")
    async with raw_server(STREAM + stream) as server:
        with pytest.raises(StreamTruncatedError, match="dropped"):
            await complete(bridged(client, server.url), ask("Look."))


@pytest.mark.parametrize("provider", SDKS)
@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("[[error: 429 retry_after=7]]", RateLimitedError, "in 7 seconds"),
        ("[[error: 500]]", OverloadedError, "asked for by the script"),
        ("[[error: 503 page=html]]", OverloadedError, "Scripted page"),
        ("[[error: 401]]", AuthenticationError, "check the key of the provider account"),
        ("[[error: 404]]", ModelNotFoundError, "model's name"),
        ("[[error: 400]]", RequestRejectedError, "repeating it cannot help"),
        ("[[error: 402]]", AuthenticationError, "credit left"),
        ("[[cut: 1000]]", StreamTruncatedError, "in the middle of its answer"),
        ("[[cut: 0]]", ModelConnectionError, "be reached"),
    ],
)
async def test_given_a_fault_then_it_is_ours_and_was_asked_for_once(
    client: httpx.AsyncClient,
    wire: WireServer,
    provider: str,
    fault: str,
    kind: type[ModelError],
    said: str,
) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(bridged(client, wire.url, provider=provider), ask(fault))
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert f"{provider}:model-x at 127.0.0.1" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert wire.stats.requests == 1


async def test_given_429_then_retry_after_is_in_seconds(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    with pytest.raises(RateLimitedError) as caught:
        await collect(bridged(client, wire.url), ask("[[error: 429 retry_after=7]]"))
    assert caught.value.retry_after == 7
    with pytest.raises(RateLimitedError) as caught:
        await collect(bridged(client, wire.url), ask("[[error: 429]]"))
    assert caught.value.retry_after is None


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("overloaded_error", OverloadedError),
        ("rate_limit_error", RateLimitedError),
        ("invalid_request_error", RequestRejectedError),
    ],
)
async def test_given_an_error_event_inside_the_stream_then_it_has_its_own_kind(
    client: httpx.AsyncClient, wire: WireServer, event: str, kind: type[ModelError]
) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(bridged(client, wire.url), ask(f"[[event: {event}]]"))
    assert type(caught.value) is kind


async def test_given_no_server_then_it_says_where(client: httpx.AsyncClient) -> None:
    with pytest.raises(ModelConnectionError, match=r"together:model-x at 127\.0\.0\.1:9 could not"):
        await collect(bridged(client, "http://127.0.0.1:9"), ask("Hello"))


@pytest.mark.parametrize(
    ("fault", "timeouts", "seconds", "said"),
    [
        ("headers", Timeouts(0.2, 20), 20, "answer within 0.2 seconds"),
        ("stream", Timeouts(20, 0.2), 20, "fell silent for 0.2 seconds"),
        ("stream", Timeouts(20, 20), 0.4, "was not done within 0.4 seconds"),
    ],
)
async def test_given_silence_then_the_limit_that_ran_out_is_named(
    client: httpx.AsyncClient,
    wire: WireServer,
    fault: str,
    timeouts: Timeouts,
    seconds: float,
    said: str,
) -> None:
    model = bridged(client, wire.url, timeouts=timeouts)
    with pytest.raises(ModelTimeoutError) as caught:
        await collect(model, ask(f"[[hang: {fault}]]", timeout_seconds=seconds))
    assert said in str(caught.value)


@pytest.mark.parametrize("provider", SDKS)
async def test_given_a_cancelled_task_then_the_server_sees_the_disconnect(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = bridged(client, wire.url, provider=provider)
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in model.stream(ask("[[hang: stream]] [[text: abcdefgh]]")):
            begun.set()

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _disconnected(wire)


async def test_given_a_closed_stream_then_the_server_sees_the_disconnect(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    stream: Any = bridged(client, wire.url).stream(ask("[[hang: stream]] [[text: abcdefgh]]"))
    async with aclosing(stream):
        assert isinstance(await anext(stream), TextDelta)
    await _disconnected(wire)


async def _disconnected(wire: WireServer) -> None:
    async with asyncio.timeout(2):
        while wire.stats.disconnected != 1:
            await asyncio.sleep(0)
    assert wire.stats.in_flight == 0


async def test_given_settings_that_the_sdk_refuses_then_it_is_ours_at_the_first_request(
    client: httpx.AsyncClient,
) -> None:
    model = factory.create(
        "azure:model-x",
        client=client,
        environ={"OPENAI_API_VERSION": "2025-01-01"},  # not with an endpoint that has its own
        key="sk-secret",
        base_url="http://127.0.0.1:9/openai/v1",
    )
    with pytest.raises(RequestRejectedError, match=r"model-x cannot be created: .*api_version"):
        await collect(model, ask("Hello"))
