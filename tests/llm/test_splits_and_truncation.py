"""However the network cuts a stream, the answer is the same, or there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from agents.llm.errors import StreamTruncatedError

from .raw_server import STREAM, raw_server
from .samples import (
    ANTHROPIC_COMPLETION,
    ANTHROPIC_STREAM,
    OPENAI_COMPLETION,
    OPENAI_STREAM,
)
from .support import canned, complete, model

if TYPE_CHECKING:
    from agents.llm.messages import Completion

DIALECTS = [
    pytest.param("openai", OPENAI_STREAM, OPENAI_COMPLETION, id="openai"),
    pytest.param("anthropic", ANTHROPIC_STREAM, ANTHROPIC_COMPLETION, id="anthropic"),
]
# The event with the reason for the answer's end: from its line break on the answer is whole.
ENDS = {"openai": b'"finish_reason": "tool_calls"', "anthropic": b'"stop_reason": "tool_use"'}


def end_of_answer(provider: str, stream: bytes) -> int:
    """Return the offset at which a decoder has the reason for the answer's end."""
    return stream.index(b"\n\n", stream.index(ENDS[provider])) + 2


@pytest.mark.parametrize(("provider", "stream", "expected"), DIALECTS)
async def test_a_stream_cut_in_two_anywhere_gives_the_same_answer(
    provider: str, stream: bytes, expected: Completion
) -> None:
    for offset in range(len(stream) + 1):
        parts = [part for part in (stream[:offset], stream[offset:]) if part]
        assert await complete(canned(*parts, provider=provider)) == expected, offset


@pytest.mark.parametrize(("provider", "stream", "expected"), DIALECTS)
async def test_a_stream_that_arrives_byte_by_byte_gives_the_same_answer(
    provider: str, stream: bytes, expected: Completion
) -> None:
    parts = [bytes([byte]) for byte in stream]
    assert await complete(canned(*parts, provider=provider)) == expected


@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
@pytest.mark.parametrize(("provider", "stream", "expected"), DIALECTS)
async def test_every_line_ending_of_the_format_is_understood(
    provider: str, stream: bytes, expected: Completion, newline: bytes
) -> None:
    other = stream.replace(b"\n", newline)
    middle = len(other) // 2
    assert await complete(canned(other[:middle], other[middle:], provider=provider)) == expected


async def _whole_or_truncated(chat_model: object, expected: Completion) -> bool:
    """Return whether the answer was whole; anything but whole or truncated fails the test."""
    try:
        answer = await complete(chat_model)  # type: ignore[arg-type]
    except StreamTruncatedError:
        return False
    # The usage follows the answer in one dialect; without it the run estimates it.
    assert (answer.message, answer.finish_reason) == (expected.message, expected.finish_reason)
    return True


@pytest.mark.parametrize("broken", [None, httpx.ReadError("reset")], ids=["ended", "broken"])
@pytest.mark.parametrize(("provider", "stream", "expected"), DIALECTS)
async def test_a_stream_that_stops_anywhere_is_whole_or_an_error(
    provider: str, stream: bytes, expected: Completion, broken: Exception | None
) -> None:
    whole = []
    for offset in range(len(stream)):
        chat_model = canned(stream[:offset], provider=provider, error=broken)
        if await _whole_or_truncated(chat_model, expected):
            whole.append(offset)
    assert whole == list(range(end_of_answer(provider, stream), len(stream)))


@pytest.mark.parametrize(("provider", "stream", "expected"), DIALECTS)
async def test_a_connection_closed_anywhere_gives_the_whole_answer_or_an_error(
    client: httpx.AsyncClient, provider: str, stream: bytes, expected: Completion
) -> None:
    for offset in range(0, len(stream), 4):
        async with raw_server(STREAM + stream[:offset]) as server:
            chat_model = model(client, provider=provider, url=server.url)
            whole = await _whole_or_truncated(chat_model, expected)
            assert whole == (offset >= end_of_answer(provider, stream)), offset


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 100000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
async def test_an_answer_shorter_than_announced_is_truncated(
    client: httpx.AsyncClient, framing: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + framing
    cut = OPENAI_STREAM[:200]
    body = b"%x\r\n%b" % (len(cut) + 10, cut) if b"chunked" in framing else cut
    async with raw_server(head + body) as server:
        with pytest.raises(StreamTruncatedError, match="broke the connection"):
            await complete(model(client, url=server.url))
