"""Hostile text and JSON: one error with one sentence, or a value Postgres accepts."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbit_site.base.untrusted import (
    JSONValue,
    UntrustedJSONError,
    clean_json,
    clean_text,
    parse_untrusted_json,
)
from tests.pace import in_time

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # NUL and surrogates included
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def assert_jsonb(value: JSONValue) -> None:
    """The rules of Postgres 18's jsonb: UTF-8 text, no NUL, no lone surrogate, no NaN."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    assert "\x00" not in text
    assert "\\u0000" not in json.dumps(value).replace("\\\\", "")
    text.encode("utf-8", "strict")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "malformed at line 1, column 1"),
        ("{", "malformed"),
        ('{"a": 1,}', "malformed"),
        ('{"a": 1} trailing', "malformed"),
        ("{'a': 1}", "malformed"),
        ('"a\nb"', "malformed"),
        ('{"to":"a","to":"evil"}', "names 'to' more than once"),
        ('[{"x":{"k":1,"k":1}}]', "names 'k' more than once"),
        ('{"a\\u0000":1,"a\\u0000":2}', "more than once"),
        ('{"\\u0000":1,"\\ufffd":2}', "more than once"),
        ('{"\\ud800":1,"\\udbff":2}', "more than once"),
        ("NaN", "NaN"),
        ('{"a": Infinity}', "Infinity"),
        ("[-Infinity]", "-Infinity"),
        ("1e400", "too large for a float"),
        ("-1e99999999", "too large for a float"),
        ("9" * 5_000, "beyond 64 bits"),
        ("-" + "9" * 900_000, "beyond 64 bits"),
        ("18446744073709551616", "beyond 64 bits"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 65 + "]" * 65, "nested too deeply"),
        ('{"a":' * 1_000 + "1" + "}" * 1_000, "nested too deeply"),
        ('["' + '\\"[' * 100 + '",' + "[" * 100, "nested too deeply"),
        ('"' + "x" * 1_000_000 + '"', "too large: 1000002 bytes"),
        ("é" * 500_001, "too large: 1000002 bytes"),
    ],
)
def test_hostile_json_is_one_error_with_one_sentence(text: str, sentence: str) -> None:
    for source in (text, text.encode("utf-8", "surrogatepass")):
        with pytest.raises(UntrustedJSONError) as caught:
            parse_untrusted_json(source)
        assert sentence in str(caught.value)
        assert len(str(caught.value)) < 200
        assert_jsonb(str(caught.value))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        ("18446744073709551615", 2**64 - 1),
        ("-18446744073709551615", -(2**64) + 1),
        (r'"a\u0000b"', "a\ufffdb"),
        (r'"\ud800"', "\ufffd"),
        (r'"\udc00\ud800"', "\ufffd\ufffd"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ('"\ud83d\ude00"', "\U0001f600"),
        ('{"k\ud800": "v\udfff"}', {"k\ufffd": "v\ufffd"}),
        (b'"\xff\xfe"', "\ufffd\ufffd"),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('["' + "[" * 5_000 + '"]', ["[" * 5_000]),
        ("[" * 64 + "]" * 64, None),
        ("-0", 0),
        ("1e-400", 0.0),
    ],
)
def test_acceptable_json_is_read(source: str | bytes, value: JSONValue) -> None:
    parsed = parse_untrusted_json(source)
    if value is not None:
        assert parsed == value
    assert_jsonb(parsed)


def test_depth_is_no_matter_of_the_stack() -> None:
    """Deep in the stack, where ``json.loads`` has few frames left, the answer is the same."""

    def at(frames: int) -> JSONValue:
        return parse_untrusted_json("[" * 64 + "]" * 64) if frames == 0 else at(frames - 1)

    assert at(sys.getrecursionlimit() - 300) is not None


@pytest.mark.parametrize("unit", ["[]", "{}", '"', '\\"', '"\\', "[1,", '{"a":[', "\\u0000"])
@pytest.mark.paced
def test_the_depth_check_is_linear(unit: str) -> None:
    text = unit * (900_000 // len(unit))
    began = time.perf_counter()
    with contextlib.suppress(UntrustedJSONError):
        parse_untrusted_json(text)
    in_time(time.perf_counter() - began, 2)


def test_clean_json_reads_what_python_has() -> None:
    class Odd(Mapping[str, object]):
        def __getitem__(self, key: str) -> object:
            return (1, float("nan"))

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(["a\x00"])

        def __len__(self) -> int:
            return 1

    assert clean_json(Odd()) == {"a\ufffd": [1, None]}
    assert clean_json({"t": True, "i": math.inf}) == {"t": True, "i": None}


@pytest.mark.parametrize("value", [{1: "a"}, object(), {"a"}, b"x", 2**64, [2**70], {"a": ...}])
def test_clean_json_refuses_what_is_no_json(value: object) -> None:
    with pytest.raises(UntrustedJSONError):
        clean_json(value)


def test_clean_json_refuses_cycles_and_depth() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(UntrustedJSONError, match="deeply"):
        clean_json(cycle)


@given(ANY_TEXT)
def test_clean_text_is_storable_idempotent_and_leaves_good_text_alone(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean_text(cleaned) == cleaned
    if "\x00" not in text and text.isprintable():
        assert cleaned == text


@given(ANY_JSON)
def test_clean_json_is_storable_and_idempotent(value: object) -> None:
    cleaned = clean_json(value)
    assert_jsonb(cleaned)
    assert clean_json(cleaned) == cleaned


@given(ANY_JSON, st.booleans())
def test_what_was_parsed_is_storable_and_parses_again(value: object, escaped: bool) -> None:  # noqa: FBT001
    try:
        parsed = parse_untrusted_json(json.dumps(value, ensure_ascii=escaped))
    except UntrustedJSONError:
        return
    assert_jsonb(parsed)
    assert parse_untrusted_json(json.dumps(parsed)) == parsed
    assert clean_json(parsed) == parsed


@given(st.text(alphabet='[]{}",:\\u0d8fF19eE+-.NIatrue \x00\ud800', max_size=200) | st.binary())
def test_nothing_but_the_one_error_is_raised(source: str | bytes) -> None:
    with contextlib.suppress(UntrustedJSONError):
        assert_jsonb(parse_untrusted_json(source))
