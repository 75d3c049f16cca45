"""What the Messages API sends, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from agents.llm.adapters.anthropic_request import request_body
from agents.llm.errors import ModelError, OverloadedError, RateLimitedError, StreamTruncatedError
from agents.llm.messages import ChatRequest, TextDelta, ThinkingDelta, ToolCallDelta, UserMessage
from agents.llm.profiles import Profile

from .samples import ANTHROPIC_EVENTS, ANTHROPIC_STREAM, sse
from .support import canned, collect, complete, endpoint

START, *_, DELTA, STOP = ANTHROPIC_EVENTS


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def stream(*events: dict[str, Any]) -> bytes:
    return sse(START, *events, DELTA, STOP, named=True)


async def test_deltas_arrive_in_order_and_the_start_event_s_words_are_not_lost() -> None:
    events = await collect(canned(ANTHROPIC_STREAM, provider="anthropic"))
    assert events[:-1] == [
        ThinkingDelta("Hm 🐝"),
        TextDelta("Grü"),
        TextDelta("ße 🐝 "),
        ToolCallDelta(0, "search", '{"q": "'),
        ToolCallDelta(0, "search", 'bées"}'),
    ]


async def test_a_call_whose_input_stands_in_the_start_event_keeps_it() -> None:
    call = {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "é"}}
    answer = await complete(canned(stream(*block(0, call)), provider="anthropic"))
    assert answer.message.tool_calls[0].arguments == '{"q": "é"}'


@pytest.mark.parametrize(
    ("content", "deltas"),
    [
        ({"input": '{"q": "é"}'}, []),
        ({"input": {}}, [{"type": "input_json_delta", "partial_json": {"q": "é"}}]),
        ({}, [{"type": "input_json_delta", "partial_json": '{"q": "é"}'}]),
    ],
    ids=["text", "object in a delta", "as it should be"],
)
async def test_a_call_s_input_is_kept_whatever_its_form(
    content: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    call = {"type": "tool_use", "id": "a", "name": "search", **content}
    answer = await complete(canned(stream(*block(0, call, *deltas)), provider="anthropic"))
    assert answer.message.tool_calls[0].arguments == '{"q": "é"}'


async def test_blocks_of_one_index_are_told_apart() -> None:
    calls = [{"type": "tool_use", "id": n, "name": "search", "input": {"q": n}} for n in ("a", "b")]
    blocks = [event for call in calls for event in block(0, call)]
    answer = await complete(canned(stream(*blocks), provider="anthropic"))
    assert [(call.id, call.arguments) for call in answer.message.tool_calls] == [
        ("a", '{"q": "a"}'),
        ("b", '{"q": "b"}'),
    ]


async def test_usage_counts_cached_tokens_as_input() -> None:
    usage = (await complete(canned(stream(), provider="anthropic"))).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (20, 7, 3)
    assert usage.raw["input_tokens"] == 10


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
        ("pause_turn", "other"),
    ],
)
async def test_stop_reasons_are_ours(reason: str, expected: str) -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}}
    answer = await complete(canned(sse(START, end, STOP, named=True), provider="anthropic"))
    assert answer.finish_reason == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", OverloadedError),
        ("api_error", OverloadedError),
        ("rate_limit_error", RateLimitedError),
        ("something_new", OverloadedError),
    ],
)
async def test_an_error_event_inside_the_stream_is_that_error(
    kind: str, expected: type[ModelError]
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    events = [START, *block(0, {"type": "text", "text": "Hal"}), error]
    with pytest.raises(expected, match="Overloaded"):
        await collect(canned(sse(*events, named=True), provider="anthropic"))


async def test_a_stream_is_whole_once_the_reason_for_its_end_is_known() -> None:
    events = [START, *block(0, {"type": "text", "text": "Hallo"})]
    with pytest.raises(StreamTruncatedError):
        await complete(canned(sse(*events, named=True), provider="anthropic"))
    cut = sse(*events, DELTA, named=True)
    assert (await complete(canned(cut, provider="anthropic"))).message.text == "Hallo"


async def test_a_piece_of_a_block_that_was_not_begun_is_not_lost_in_silence() -> None:
    _, *deltas = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hallo"})
    with pytest.raises(StreamTruncatedError, match="did not begin"):
        await complete(canned(stream(*deltas), provider="anthropic"))


async def test_unknown_events_and_blocks_are_passed_over() -> None:
    known = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    odd = block(0, {"type": "server_tool_use", "name": "x"}, {"type": "citations_delta"})
    answer = await complete(canned(stream({"type": "news"}, *odd, *known), provider="anthropic"))
    assert answer.message.text == "Hi"
    assert answer.message.tool_calls == ()


async def test_alternating_blocks_go_back_in_the_order_they_came() -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": text, "signature": "c2ln"}

    call = {"type": "tool_use", "id": "a", "name": "clock", "input": {}}
    events = [
        *block(0, thought("one")),
        *block(1, {"type": "text", "text": "First. "}),
        *block(2, thought("two")),
        *block(3, {"type": "redacted_thinking", "data": "eA=="}),
        *block(4, {"type": "text", "text": "Second."}),
        *block(5, call),
    ]
    answer = await complete(canned(stream(*events), provider="anthropic"))
    assert answer.message.text == "First. Second."
    request = ChatRequest("", (UserMessage("?"), answer.message))
    profile = Profile(thinking="always")
    body = request_body(request, endpoint=endpoint("anthropic"), profile=profile)
    content = body["messages"][1]["content"]
    assert [item["type"] for item in content] == [
        "thinking",
        "text",
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
    ]
    assert content[0] == thought("one")
    assert [item["text"] for item in content if item["type"] == "text"] == ["First. ", "Second."]
