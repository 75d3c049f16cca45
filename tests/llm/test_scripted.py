"""The scripted model that users' tests rely on."""

from __future__ import annotations

import asyncio

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel, calls
from agents.llm.errors import OverloadedError, RateLimitedError, RequestRejectedError
from agents.llm.messages import Completion, TextDelta, ToolCallDelta, Usage

from .support import HELLO, collect, complete


async def test_answers_come_in_order_and_requests_are_kept() -> None:
    scripted = ScriptedModel([calls(("search", {"q": "bees"}), ("clock", {})), "Done."])
    first = await collect(scripted)
    assert first[:2] == [
        ToolCallDelta(0, "search", '{"q": "bees"}'),
        ToolCallDelta(1, "clock", "{}"),
    ]
    assert isinstance(first[-1], Completion)
    assert first[-1].finish_reason == "tool_calls"
    assert [call.id for call in first[-1].message.tool_calls] == ["call_0", "call_1"]
    assert (await complete(scripted)).message.text == "Done."
    assert scripted.requests == [HELLO, HELLO]
    with pytest.raises(RequestRejectedError, match="has 2 answers and this is request 3"):
        await collect(scripted)


async def test_a_function_may_answer() -> None:
    scripted = ScriptedModel(lambda request: Reply(text=request.system, usage=Usage(1, 2)))
    answer = await complete(scripted)
    assert (answer.message.text, answer.usage) == ("Be brief.", Usage(1, 2))
    assert answer.model == "scripted:model"


async def test_text_arrives_in_pieces_with_pauses_and_may_end_in_an_error() -> None:
    reply = Reply(text="abcdef", deltas=4, delay_seconds=0.001, gap_seconds=0.001)
    events = await collect(ScriptedModel([reply]))
    assert events[:-1] == [TextDelta("ab"), TextDelta("cd"), TextDelta("ef")]
    seen = []
    with pytest.raises(OverloadedError):
        async for event in ScriptedModel([Reply(text="ab", error=OverloadedError("busy"))]).stream(
            HELLO
        ):
            seen.append(event)
    assert seen == [TextDelta("ab")]
    with pytest.raises(RateLimitedError):
        await collect(ScriptedModel([RateLimitedError("slow", retry_after=1)]))


async def test_it_can_be_cancelled_while_it_is_silent() -> None:
    scripted = ScriptedModel([Reply(text="never", delay_seconds=60)])
    task = asyncio.create_task(collect(scripted))
    while not scripted.requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
