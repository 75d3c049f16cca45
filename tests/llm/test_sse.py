"""The event stream's format: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.adapters.sse import EventSplitter, SentEvent

STREAM = (
    b": a comment\n\ndata: one\n\nevent: named\ndata: two\ndata:  lines\n\n"
    b'id: 7\nretry: 10\ndata:{"g": "\xc3\xbc"}\n\nevent: without data\n\ndata\n\ndata: open\n'
)
EVENTS = [
    SentEvent("", "one"),
    SentEvent("named", "two\n lines"),
    SentEvent("", '{"g": "ü"}'),
    SentEvent("", ""),
]


def split(*chunks: bytes) -> list[SentEvent]:
    splitter = EventSplitter()
    return [event for chunk in chunks for event in splitter.feed(chunk)]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_every_newline_ends_a_line(newline: bytes) -> None:
    assert split(STREAM.replace(b"\n", newline)) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM) * 2)), newline=st.sampled_from([b"\n", b"\r\n"]))
def test_wherever_it_is_cut_the_events_are_the_same(cuts: list[int], newline: bytes) -> None:
    stream = STREAM.replace(b"\n", newline)
    borders = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert split(*(stream[a:b] for a, b in itertools.pairwise(borders))) == EVENTS


def test_byte_by_byte_with_lone_returns() -> None:
    stream = STREAM.replace(b"\n", b"\r")
    assert split(*(bytes([byte]) for byte in stream)) == EVENTS


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert split(b"data: \xff!\n\n") == [SentEvent("", "\ufffd!")]
