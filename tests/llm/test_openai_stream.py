"""What Chat Completions servers send, and what becomes of it."""

from __future__ import annotations

import json
import time
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from agents.llm.adapters import openai_stream
from agents.llm.adapters.endpoint import Timeouts
from agents.llm.errors import (
    AuthenticationError,
    ModelError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
)
from agents.llm.messages import TextDelta, ThinkingDelta, ToolCall, ToolCallDelta
from agents.llm.text import read_object

from .raw_server import STREAM, hang_after, raw_server
from .samples import OPENAI_STREAM, call_delta, chunk, sse
from .support import canned, collect, complete, model

USAGE: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


async def test_deltas_arrive_in_order_with_the_calls_told_apart() -> None:
    events = await collect(canned(OPENAI_STREAM))
    assert events[:-1] == [
        TextDelta("Grü"),
        TextDelta("ße 🐝 "),
        ToolCallDelta(0, "search", '{"q": "'),
        ToolCallDelta(1, "clock", ""),
        ToolCallDelta(0, "search", 'bées"}'),
        ToolCallDelta(1, "clock", "{}"),
    ]


async def test_parallel_calls_without_distinct_indexes_are_told_apart_by_their_ids() -> None:
    stream = sse(
        chunk(call_delta(0, id="a", name="search", arguments='{"q":1}')),
        chunk(call_delta(0, id="b", name="search", arguments='{"q":2}')),
        chunk({"tool_calls": [{"id": "c", "function": {"name": "clock", "arguments": "{}"}}]}),
        chunk({}, "stop"),
        "[DONE]",
    )
    answer = await complete(canned(stream))
    assert [call.id for call in answer.message.tool_calls] == ["a", "b", "c"]
    assert answer.message.tool_calls[1].arguments == '{"q":2}'
    assert answer.finish_reason == "tool_calls"


def whole(name: str, arguments: object, **fields: Any) -> dict[str, Any]:
    """Return a chunk with a whole call."""
    return chunk({"tool_calls": [{"function": {"name": name, "arguments": arguments}, **fields}]})


PARALLEL = [("search", '{"q": 1}'), ("search", '{"q": 2}'), ("clock", "{}")]


@pytest.mark.parametrize(
    "chunks",
    [
        [whole(*call, index=0) for call in PARALLEL],
        [whole(*call, index=0, id="") for call in PARALLEL],
        [whole(*call) for call in PARALLEL],
        [whole(name, json.loads(arguments)) for name, arguments in PARALLEL],
        [whole(*call, index=0, id=f"c{n}") for n, call in enumerate(PARALLEL)],
        [whole(*call, index=n, id="same") for n, call in enumerate(PARALLEL)],
        [whole(*call, index=0, id="same") for call in PARALLEL],
    ],
    ids=["index 0", "empty id", "nothing", "objects", "ids", "same id", "same id and index"],
)
async def test_parallel_calls_that_come_whole_are_told_apart(chunks: list[Any]) -> None:
    answer = await complete(canned(sse(*chunks, chunk({}, "stop"), "[DONE]")))
    calls = [(call.name, call.arguments or "{}") for call in answer.message.tool_calls]
    assert calls == PARALLEL
    assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "deltas",
    [
        [
            call_delta(0, id="a", name="search", arguments=""),
            call_delta(0, id="b", arguments='{"q"'),
            call_delta(0, id="c", arguments=": 1}"),
        ],
        [
            call_delta(0, id="a", name="search", arguments='{"q"'),
            call_delta(0, id="a", name="search", arguments=": 1}"),
            call_delta(0, id="a", name="search", arguments=""),
        ],
        [
            call_delta(0, id="a", name="search", arguments={}),
            call_delta(0, arguments='{"q": 1}'),
        ],
        [
            call_delta(0, id="a", name="search"),
            {"tool_calls": [{"function": {"arguments": '{"q": 1}'}}]},
        ],
    ],
    ids=["other ids", "repeated name", "empty object", "no index"],
)
async def test_the_pieces_of_one_call_are_one_call(deltas: list[Any]) -> None:
    stream = sse(*map(chunk, deltas), chunk({}, "tool_calls"), "[DONE]")
    answer = await complete(canned(stream))
    assert answer.message.tool_calls == (ToolCall("a", "search", '{"q": 1}'),)


@pytest.mark.parametrize("arguments", [[], [1], 5, False])
async def test_arguments_that_are_no_object_are_not_taken_for_none(arguments: object) -> None:
    stream = sse(whole("search", arguments, id="a"), chunk({}, "tool_calls"), "[DONE]")
    [call] = (await complete(canned(stream))).message.tool_calls
    assert call.arguments == json.dumps(arguments)


async def test_calls_that_alternate_under_one_index_are_told_apart_by_their_ids() -> None:
    stream = sse(
        chunk(call_delta(0, id="a", name="search", arguments='{"q"')),
        chunk(call_delta(0, id="b", name="clock", arguments="{")),
        chunk(call_delta(0, id="a", arguments=": 1}")),
        chunk(call_delta(0, id="b", arguments="}")),
        chunk({}, "tool_calls"),
        "[DONE]",
    )
    calls = (await complete(canned(stream))).message.tool_calls
    assert calls == (ToolCall("a", "search", '{"q": 1}'), ToolCall("b", "clock", "{}"))


@pytest.mark.parametrize(
    "finish",
    [
        "function_call_filter: MALFORMED_FUNCTION_CALL",
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: UNEXPECTED_TOOL_CALL",
        "error",
    ],
)
async def test_an_answer_of_which_the_provider_dropped_a_part_is_none(finish: str) -> None:
    stream = sse(chunk({"content": "I look."}), chunk({}, finish), "[DONE]")
    with pytest.raises(StreamTruncatedError, match=f"dropped .* \\({finish}\\)"):
        await complete(canned(stream))


async def test_a_server_that_hangs_after_its_answer_has_answered() -> None:
    sent = STREAM + sse(chunk({"content": "x"}, "stop"))
    hangs = hang_after(sent, lambda: server)
    async with httpx.AsyncClient() as client, raw_server(hangs) as server:
        chat_model = model(client, url=server.url, timeouts=Timeouts(20, 0.2))
        assert (await complete(chat_model)).message.text == "x"


async def test_a_call_in_many_pieces_is_read_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Mock(wraps=read_object)
    monkeypatch.setattr(openai_stream, "read_object", read)
    pieces = [chunk(call_delta(0, id="a", name="clock", arguments="{")) for _ in range(1_000)]
    await complete(canned(sse(*pieces, chunk({}, "tool_calls"), "[DONE]")))
    assert read.call_count <= 100


async def test_four_times_the_calls_take_about_four_times_as_long() -> None:
    few, many = [min([await _seconds_to_read(count) for _ in range(3)]) for count in (1_250, 5_000)]
    assert many < 8 * few  # 4 times; quadratic, it took 13 times as long


async def _seconds_to_read(count: int) -> float:
    """Return the processor's seconds for an answer of so many calls."""
    deltas = [chunk(call_delta(n, name="clock", arguments="{}")) for n in range(count)]
    stream = canned(sse(*deltas, chunk({}, "tool_calls"), "[DONE]"))
    began = time.thread_time()  # whatever other threads of the tests do meanwhile
    answer = await complete(stream)
    assert len({call.id for call in answer.message.tool_calls}) == count
    return time.thread_time() - began


async def test_calls_without_ids_get_ids_that_differ() -> None:
    stream = sse(
        chunk(call_delta(0, name="search", arguments="{}")),
        chunk(call_delta(1, name="clock", arguments="{}")),
        chunk({}, "tool_calls"),
        "[DONE]",
    )
    answer = await complete(canned(stream))
    assert answer.message.tool_calls == (
        ToolCall("call_1_0", "search", "{}"),
        ToolCall("call_1_1", "clock", "{}"),
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 30}, (5, 25, 0)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            (5, 2, 4),
        ),
        ({"prompt_tokens": "many", "completion_tokens": None}, (0, 0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": -2}, (0, 0, 0)),
        ({"prompt_tokens": 10**4000, "completion_tokens": 2**31}, (2**31 - 1, 2**31 - 1, 0)),
    ],
)
async def test_usage_is_normalised_and_kept_raw(
    usage: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    stream = sse(chunk({"content": "x"}, "stop"), {"choices": [], "usage": usage}, "[DONE]")
    got = (await complete(canned(stream))).usage
    assert (got.input_tokens, got.output_tokens, got.cached_input_tokens) == expected
    assert got.raw == {**usage, "model": "gpt-x-2026"}


async def test_reasoning_is_shown_and_kept_for_its_provider() -> None:
    stream = sse(
        chunk({"reasoning_content": "let me "}),
        chunk({"reasoning_content": "think"}),
        chunk({"content": "42"}, "stop"),
        USAGE,
        "[DONE]",
    )
    events = await collect(canned(stream))
    assert [event for event in events if isinstance(event, ThinkingDelta)] == [
        ThinkingDelta("let me "),
        ThinkingDelta("think"),
    ]
    thinking = (await complete(canned(stream))).message.thinking[0]
    assert thinking.provider == "openai"
    assert thinking.block["value"] == "let me think"


async def test_pieces_of_a_reasoning_detail_are_joined_and_its_signature_kept() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "let me "},
        {"type": "reasoning.text", "index": 0, "text": "think"},
        {"type": "reasoning.text", "index": 0, "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "eA=="},
    ]
    stream = sse(
        *(chunk({"reasoning": "t", "reasoning_details": [detail]}) for detail in details),
        chunk({"content": "42"}, "stop"),
        USAGE,
        "[DONE]",
    )
    (thinking,) = (await complete(canned(stream))).message.thinking
    assert thinking.block["value"] == [
        {"type": "reasoning.text", "index": 0, "text": "let me think", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "eA=="},
    ]


async def test_a_refusal_is_text_with_its_own_finish_reason() -> None:
    stream = sse(chunk({"refusal": "I cannot."}), chunk({}, "stop"), USAGE, "[DONE]")
    answer = await complete(canned(stream))
    assert (answer.message.text, answer.finish_reason) == ("I cannot.", "refused")


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refused"), ("odd", "other")],
)
async def test_finish_reasons_are_ours(finish: str, expected: str) -> None:
    stream = sse(chunk({"content": "x"}, finish), "[DONE]")
    assert (await complete(canned(stream))).finish_reason == expected


async def test_text_that_postgres_refuses_is_replaced() -> None:
    raw = b'data: {"choices":[{"delta":{"content":"a\\u0000b \\ud800 \xff"}}]}\n\n'
    stream = raw + sse(chunk({}, "stop"), USAGE, "[DONE]")
    text = (await complete(canned(stream))).message.text
    assert text == "a\ufffdb \ufffd \ufffd"
    json.dumps(text, ensure_ascii=False).encode()


async def test_an_emoji_escaped_in_two_halves_is_joined_across_deltas() -> None:
    halves = b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'
    halves += b'data: {"choices":[{"delta":{"content":"\\udc1d!"}}]}\n\n'
    events = await collect(canned(halves + sse(chunk({}, "stop"), USAGE, "[DONE]")))
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta("🐝!")]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "server_error", "message": "boom"}, OverloadedError),
        ({"code": 429, "message": "slow down"}, RateLimitedError),
        ({"code": "rate_limit_exceeded", "type": "requests"}, RateLimitedError),
        ({"code": 502, "message": "upstream"}, OverloadedError),
        ({"code": "\u00b2", "message": "no number"}, OverloadedError),
        ({"type": "invalid_request_error", "message": "bad"}, RequestRejectedError),
        ({"code": "insufficient_quota", "message": "pay"}, AuthenticationError),
        ("just words", OverloadedError),
    ],
)
async def test_an_error_event_inside_the_stream_is_that_error(
    error: object, expected: type[ModelError]
) -> None:
    stream = sse(chunk({"content": "Hal"}), {"error": error})
    with pytest.raises(expected):
        await collect(canned(stream))


@pytest.mark.parametrize(
    "data",
    ["{", "[]", "nonsense", "[" * 100_000, "1" * 5000],
    ids=["open", "array", "word", "deep", "huge number"],
)
async def test_an_event_that_is_no_object_breaks_the_format(data: str) -> None:
    with pytest.raises(StreamTruncatedError, match="JSON"):
        await collect(canned(sse(data)))


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": [7]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": [None, {"index": "x"}]}}]},
        {"usage": "much", "choices": "none"},
    ],
)
async def test_fields_of_the_wrong_type_are_passed_over(odd: dict[str, Any]) -> None:
    stream = sse(odd, chunk({"content": "fine"}, "stop"), "[DONE]")
    assert (await complete(canned(stream))).message.text == "fine"


async def test_done_without_a_finish_reason_is_not_an_answer() -> None:
    with pytest.raises(StreamTruncatedError, match=r"openai:model-x at 127\.0\.0\.1:9 ended"):
        await complete(canned(sse(chunk({"content": "Hal"}), "[DONE]")))


async def test_comments_and_what_follows_the_end_are_ignored() -> None:
    stream = b": keep-alive\n\n" + sse(chunk({"content": "x"}, "stop"), "[DONE]", "{")
    assert (await complete(canned(stream))).message.text == "x"


async def test_what_google_hangs_on_a_call_goes_back_with_that_call() -> None:
    signed = call_delta(0, id="a", name="clock", arguments="{}")
    signed["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "c2ln"}}
    answer = await complete(canned(sse(chunk(signed), chunk({}, "stop"), "[DONE]")))
    (thinking,) = answer.message.thinking
    assert thinking.block["value"] == {"google": {"thought_signature": "c2ln"}}
