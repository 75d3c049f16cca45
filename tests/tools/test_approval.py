"""A decision belongs to one call as it was shown, and to no other."""

from __future__ import annotations

import json
import unicodedata
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.calls.approval import digest

RUN, OTHER_RUN = UUID(int=1), UUID(int=2)
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
VALUES = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(st.text(max_size=2), LEAVES)
ARGUMENTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)


def of(arguments: dict[str, Any], *, run: UUID = RUN, call: str = "1.0", tool: str = "a") -> str:
    return digest(run, call, definition_hash=tool, arguments=arguments)


@given(ARGUMENTS, ARGUMENTS)
def test_two_calls_have_one_digest_only_if_they_are_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert (of(one) == of(other)) == (text(one) == text(other))


def text(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True)


@given(ARGUMENTS)
def test_it_holds_for_one_run_call_and_definition(arguments: dict[str, Any]) -> None:
    shown = of(arguments)
    assert shown != of(arguments, run=OTHER_RUN)
    assert shown != of(arguments, call="1.1")
    assert shown != of(arguments, tool="b")


@given(ARGUMENTS)
def test_the_order_of_keys_does_not_matter(arguments: dict[str, Any]) -> None:
    assert of(arguments) == of(dict(reversed(arguments.items())))


@pytest.mark.parametrize(
    ("shown", "run"),
    [
        ({"to": "ann"}, {"to": "ann "}),
        ({"to": "ann"}, {"to": "аnn"}),  # noqa: RUF001  a Cyrillic letter
        ({"to": unicodedata.normalize("NFC", "é")}, {"to": unicodedata.normalize("NFD", "é")}),
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"n": "1"}, {"n": 1}),
        ({"a": ["b", "c"]}, {"a": ["b,c"]}),
        ({"a": "b\nc"}, {"a": "b\\nc"}),
        ({"a": {"b": 1}}, {"a.b": 1}),
        ({}, {"a": None}),
    ],
)
def test_what_looks_alike_is_another_call(shown: dict[str, Any], run: dict[str, Any]) -> None:
    assert of(shown) != of(run)
