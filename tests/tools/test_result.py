"""What a tool returns becomes text of a bounded length."""

from __future__ import annotations

import dataclasses
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.calls import Opaque, add_on_loop, call, made, nothing
from tools.calls.result import ToolResult, truncate


@dataclasses.dataclass
class Point:
    x: int
    at: uuid.UUID


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text é", "text é"),
        ("", ""),
        (None, "null"),
        ({"a": [1, True, "é"]}, '{"a":[1,true,"é"]}'),
        (Point(1, uuid.UUID(int=2)), f'{{"x":1,"at":"{uuid.UUID(int=2)}"}}'),
        ("a\x00b", "a\ufffdb"),
        ({"k\ud800": "\x00"}, '{"k\ufffd":"\\u0000"}'),
    ],
)
async def test_results_become_text(value: object, content: str) -> None:
    assert await call(made(lambda: value, name="give")) == ToolResult(content, "ok")


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [Opaque(), {Opaque(): 1}, {"a": {("b",): 1}}, deep(), add_on_loop(1, 2)]
)
async def test_a_result_that_is_no_data_is_an_error(value: object) -> None:
    done = await call(made(lambda: value, name="give"))
    assert isinstance(done, ToolResult)
    assert (done.status, "Traceback" in done.content) == ("error", False)


async def test_results_errors_and_refusals_are_truncated() -> None:
    def fail() -> None:
        raise ValueError("e" * 10_000)

    for done in (
        await call(made(lambda: "x" * 10_000, name="give"), max_output_bytes=1_000),
        await call(made(fail), max_output_bytes=1_000),
        await call(made(nothing), policy=lambda *_: "r" * 10_000, max_output_bytes=1_000),
    ):
        assert isinstance(done, ToolResult)
        assert "[cut: " in done.content
        assert 990 < len(done.content) <= 1_000
        assert done.content.endswith("bytes shown]")


@pytest.mark.parametrize(("text", "whole"), [("x" * 1_001, "x" * 1_001), ("x" * 1_000, "")])
async def test_the_whole_text_is_kept_if_it_is_cut(text: str, whole: str) -> None:
    done = await call(made(lambda: text, name="give"), max_output_bytes=1_000)
    assert isinstance(done, ToolResult)
    assert done.whole == whole


def test_truncation_keeps_whole_characters_and_counts() -> None:
    text = "é€😀" * 1_000  # 2, 3 and 4 bytes
    content = truncate(text, 100)
    kept, marker = content.split("\n")
    assert text.startswith(kept)
    assert marker == f"[cut: {len(kept.encode())} of 9000 bytes shown]"
    assert truncate("é" * 50, 100) == "é" * 50
    assert "[cut: " in truncate("é" * 50 + "x", 100)


@given(st.text(max_size=300), st.integers(0, 400))
def test_truncation_never_exceeds_its_limit(text: str, limit: int) -> None:
    content = truncate(text, limit)
    truncated = len(text.encode()) > limit
    assert len(content.encode()) <= max(limit, 60)
    assert truncated or content == text
