"""A text that is being written, as blocks: finished ones never change, the last one is drawn."""

from __future__ import annotations

import pytest

from heartbit_site.base.growing_markdown import GrowingMarkdown
from heartbit_site.base.long_answers import answer_html, is_long

TEXT = (
    "# Tides 🌞\n\nThe water\nrises.\n\n- one\n- two\n\n```python\nprint(1)\n\nprint(2)\n```\n\n"
    "| a | b |\n|---|--:|\n| 1 | 2 |\n\nThe **end**."
)


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("step", [1, 3, 7, 50, 1000])
def test_given_pieces_of_any_length_then_a_reader_ends_with_the_same_blocks(step: int) -> None:
    grown = GrowingMarkdown()
    shown: list[str] = []
    finished: list[str] = []
    for end in range(step, len(TEXT) + step, step):
        before = TEXT[: end - step]
        grown.take(TEXT[:end])
        kept, html = grown.since(utf16(before))
        shown[kept:] = html
        assert shown[: len(finished)] == finished, "a finished block changed"
        finished = shown[:-1]
    assert [one.split(">")[0] for one in shown] == [
        "<h1",
        "<p",
        "<ul",
        '<div class="block"',
        "<table",
        "<p",
    ]
    assert "print(2)" in shown[3]
    assert shown[-1] == "<p>The <strong>end</strong>.</p>\n"
    late = GrowingMarkdown()
    late.take(TEXT)
    assert late.since(0) == (0, shown), "a reader who comes late has the same"


def test_given_hostile_text_then_no_block_has_markup_of_its_own() -> None:
    grown = GrowingMarkdown()
    grown.take('<script>x</script>\n\n```a"onclick="x\n<b>\n```\n\n[x](javascript:x)')
    _, html = grown.since(0)
    assert "<script" not in "".join(html)
    assert "<b>" not in "".join(html)
    assert "onclick=" not in "".join(html).replace("&quot;", '"').split("data-language")[0]


def test_given_a_long_answer_then_it_has_an_outline_of_its_headings() -> None:
    text = "\n\n".join(f"## Part *{n}*\n\n{'word ' * 300}" for n in range(5))
    assert is_long(text)
    assert not is_long("Short.")
    html = answer_html(text)
    assert html.count("data-heading") == 5
    assert ">Part 3</button>" in html
    assert answer_html("Short.") == '<div class="markdown"><p>Short.</p>\n</div>'
