"""What a text hides is shown, and what it says stays the same."""

from __future__ import annotations

import json

import pytest

from heartbit_site.base.visible_text import (
    compact_json,
    is_hidden,
    readable_json,
    split_hidden,
    visible,
)


@pytest.mark.parametrize(
    "hidden",
    [
        *("\u202e", "\u2066", "\u2069", "\u200f", "\u061c"),  # directions
        *("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"),  # no width
        *("\x00", "\x1b", "\x07", "\x7f", "\x9b", "\r"),  # controls
        *("\u00a0", "\u2003", "\u3000", "\u2028", "\u2029"),  # spaces that are no space
        *("\u115f", "\u3164", "\u2800", "\u034f", "\ufe0f"),  # letters that draw nothing
        *("\U000e0041", "\U000e0100", "\ue000", "\ud800"),  # tags, variations, private, halves
    ],
)
def test_what_cannot_be_seen_becomes_its_code(hidden: str) -> None:
    assert is_hidden(hidden)
    shown = visible(f"a{hidden}b")
    assert shown.isascii()
    assert json.loads(f'"{shown}"') == f"a{hidden}b"
    assert split_hidden(f"a{hidden}b") == ["a", shown[1:-1], "b"]


@pytest.mark.parametrize(
    "text", ["", "plain", "two\n\tlines", "Größe", "日本語", "e\u0301", "עברית", "🙂"]
)
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert split_hidden(text) == [text]


def test_marks_that_climb_over_the_lines_above_become_their_codes() -> None:
    assert visible("e\u0301\u0301\u0301") == "e\u0301\u0301\u0301"
    assert visible("e" + "\u0301" * 5) == "e" + "\u0301" * 3 + "\\u0301\\u0301"
    assert visible("e" + "\u0301" * 3 + "\ufe0f\u0301") == "e" + "\u0301" * 3 + r"\ufe0f\u0301"


def test_json_means_the_same_afterwards() -> None:
    value = {"a\u200bb": ["\\u202e", "\u202e", "C:\\\u202eexe", "\x1b[2J", "x\U000e0041\n"]}
    shown = visible(json.dumps(value, ensure_ascii=False, indent=2))
    assert "\u202e" not in shown
    assert json.loads(shown) == value


def test_json_stays_the_same_value_and_shows_everything() -> None:
    value = {"b": ["\u202e\x1b]0;x\x07", {"\u200b": "é\n\t"}], "a": 1.5, "tag": "\U000e0041\ud800"}
    for text in (readable_json(value), compact_json(value)):
        assert json.loads(text) == value
        assert text.replace("\n", "").isprintable()
    assert "\n" not in compact_json(value)
    assert list(json.loads(readable_json(value))) == ["b", "a", "tag"]
    assert '"é\\n\\t"' in readable_json(value)
