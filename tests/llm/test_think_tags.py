"""Thoughts that a model writes into its answer are no part of it, however the stream is cut."""

from __future__ import annotations

import pytest

from agents.llm.adapters.openai_request import request_body
from agents.llm.adapters.think_tags import ThinkTags
from agents.llm.messages import (
    ChatRequest,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile

from .samples import ANTHROPIC_EVENTS, call_delta, chunk, sse
from .support import canned, collect, complete, endpoint

START, *_, DELTA, STOP = ANTHROPIC_EVENTS

CASES = [
    pytest.param("<think>\nLet me see.\n</think>\n\nSix.", "\nLet me see.\n", "Six.", id="plain"),
    pytest.param("\n<think>a</think>\n<think>b</think>Six. ", "ab", "Six. ", id="twice"),
    pytest.param("<think>\n\n</think>\n\nSix.", "\n\n", "Six.", id="no thought"),
    pytest.param("<think>\nSo many tokens", "\nSo many tokens", "", id="unclosed"),
    pytest.param("<think>a < b </thin", "a < b </thin", "", id="cut in a tag"),
    pytest.param("First I count.\n</think>\n\nSix.", "First I count.\n", "Six.", id="no opening"),
    pytest.param("I count.</think>", "I count.", "", id="no opening and no answer"),
    pytest.param("Six.", "", "Six.", id="no tag"),
    pytest.param("  Six. \n", "", "  Six. \n", id="blanks"),
    pytest.param(" \n", "", " \n", id="only blanks"),
    pytest.param("<thi", "", "<thi", id="begun tag"),
    pytest.param("Write `<think>` and `</think>`.", "", "Write `<think>` and `</think>`.", id="of"),
    pytest.param("End it with `</think>` here.", "", "End it with `</think>` here.", id="of one"),
    pytest.param(
        "```\n<think>\na\n</think>\n```\n", "", "```\n<think>\na\n</think>\n```\n", id="in code"
    ),
]


@pytest.mark.parametrize(("written", "thoughts", "answer"), CASES)
def test_the_answer_is_what_follows_the_thoughts(written: str, thoughts: str, answer: str) -> None:
    for first in range(len(written) + 1):
        for second in range(first, len(written) + 1):
            tags = ThinkTags()
            for piece in (written[:first], written[first:second], written[second:]):
                tags.feed(piece)
            tags.finish()
            assert (tags.thoughts, tags.text) == (thoughts, answer), (first, second)


def test_blanks_without_an_end_are_an_answer_that_is_not_held_and_read_again() -> None:
    tags = ThinkTags()
    shown = [delta for _ in range(2_000) for delta in tags.feed(" ")]
    assert len(shown) > 900
    tags.finish()
    assert tags.text == " " * 2_000


def test_thoughts_beyond_the_hundredth_are_left_in_the_answer() -> None:
    tags = ThinkTags()
    tags.feed("<think>a</think>" * 105)
    tags.finish()
    assert (tags.thoughts, tags.text) == ("a" * 100, "<think>a</think>" * 5)


async def test_thoughts_stream_as_thoughts() -> None:
    pieces = ("<thi", "nk>\nFirst", " I count.\n</th", "ink>\n\n", "Six", ".")
    stream = sse(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"), "[DONE]")
    events = await collect(canned(stream))
    assert events[:-1] == [
        ThinkingDelta("\nFirst"),
        ThinkingDelta(" I count.\n"),
        TextDelta("Six"),
        TextDelta("."),
    ]


async def test_thoughts_go_back_only_before_a_call_and_to_their_provider() -> None:
    calls = call_delta(0, id="a", name="clock", arguments="{}")
    text = chunk({"content": "<think>Time?</think>\n\nI look."})
    answer = await complete(canned(sse(text, chunk(calls), chunk({}, "tool_calls"))))
    assert answer.message.text == "I look."
    messages = (UserMessage("When?"), answer.message, ToolMessage("a", "clock", "Noon."))
    sent = {}
    for provider in ("openai", "compatible"):
        where = endpoint(provider)
        body = request_body(ChatRequest("", messages), endpoint=where, profile=Profile())
        sent[provider] = body["messages"][1]["content"]
    assert sent == {"openai": "<think>Time?</think>\n\nI look.", "compatible": "I look."}


async def test_servers_of_the_messages_dialect_write_them_too() -> None:
    pieces = ("<think>Hm", "m</think>", "\n\nSix.")
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in pieces
    ]
    begin = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    stream = sse(START, begin, *deltas, DELTA, STOP, named=True)
    events = await collect(canned(stream, provider="anthropic"))
    assert events[:-1] == [ThinkingDelta("Hm"), ThinkingDelta("m"), TextDelta("Six.")]
    answer = await complete(canned(stream, provider="anthropic"))
    assert answer.message.text == "Six."
