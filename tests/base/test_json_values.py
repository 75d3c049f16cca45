"""Values of a JSON text are counted as a parser would build them, however it arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbit_site.base.json_values import ValueCount, has_too_many

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\{[,\n\u2028'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='b"\\{,'), inner),
    max_leaves=30,
)


def expected(value: Any) -> int:
    """Containers, and the items of each after its first."""
    if not isinstance(value, (dict, list)):
        return 0
    items = list(value.values() if isinstance(value, dict) else value)
    return 1 + max(0, len(items) - 1) + sum(map(expected, items))


@given(value=VALUES, cut=st.integers(1, 7), indent=st.sampled_from([None, 1]))
def test_a_text_in_pieces_has_the_count_of_its_values(value: Any, cut: int, indent: int) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    count = ValueCount()
    for start in range(0, len(text), cut):
        count.feed(text[start : start + cut])
    assert count.total == expected(value)


@pytest.mark.parametrize("opened", [b'"', b'"\\', b'": "'])
def test_a_string_without_end_hides_no_values_of_the_next_line(opened: bytes) -> None:
    text = b": " + opened + b"\ndata: [" + b"1," * 10 + b"1]"
    assert has_too_many(text, most=10)
    assert not has_too_many(text, most=11)
    count = ValueCount()
    for byte in text:
        count.feed(bytes([byte]))
    assert count.total == 11
