"""What PostgreSQL's jsonb must never be given."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agents.llm.text import TextCleaner, clean_json, clean_text, read_object

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
)


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned) == cleaned


@given(ANY_JSON)
def test_clean_json_can_be_written_strictly(value: Any) -> None:
    text = json.dumps(clean_json(value), allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()


def test_good_text_is_left_alone() -> None:
    assert clean_text("Grüße 🐝\n\t") == "Grüße 🐝\n\t"
    assert clean_json({"a": [1, 2.5, None, True]}) == {"a": [1, 2.5, None, True]}


@given(st.lists(ANY_TEXT))
def test_cleaning_in_pieces_is_cleaning_the_whole(pieces: list[str]) -> None:
    cleaner = TextCleaner()
    together = "".join(cleaner.feed(piece) for piece in pieces) + cleaner.flush()
    assert together == clean_text("".join(pieces))


def test_deep_nesting_is_cut() -> None:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    json.dumps(clean_json(deep))
    assert clean_json(math.inf) is None
    assert read_object("[" * 200_000) is None
    assert read_object("[1]") is None
    assert read_object('{"a": 1}') == {"a": 1}
