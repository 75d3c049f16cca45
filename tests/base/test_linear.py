"""Texts that once took seconds or minutes of a processor are read within the time of others."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from agents.output.fences import fenced
from heartbit_site.base.json_values import ValueCount, has_too_many
from heartbit_site.base.jsonschema import check_schema, validate
from heartbit_site.base.line_diff import MOST_COMPARED, line_diff
from heartbit_site.base.markdown import LONGEST, MOST_MARKS, to_html
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from heartbit_site.config.errors import describe_malformed
from memory.knowledge.readers.pdf import _place_of
from tests.pace import within
from tools.definitions.registry import resolve
from tools.mail.headers import decode_words, split_header
from tools.mail.parts import read_body
from tools.texts.near_names import closest
from tools.texts.path_pattern import fits, parts_of

pytestmark = pytest.mark.paced


def test_given_many_names_and_one_twice_when_parsed_then_the_refusal_is_quick() -> None:
    names = ",".join(f'"{number}":1' for number in range(80_000))
    with within(1), pytest.raises(UntrustedJSONError, match="names 'z' more than once"):
        parse_untrusted_json(f'{{{names},"z":1,"z":1}}')


def test_given_a_string_of_quotes_that_never_ends_when_values_are_counted_then_it_is_quick() -> (
    None
):
    count = ValueCount()
    with within(1):
        assert not has_too_many(b'"' + b'\\"' * 500_000)
        assert count.feed(b'{"a": "' + b'\\",' * 50_000 + b"\\") == 1
    assert count.feed(b'", [') == 1  # the backslash before it was the last of its piece
    assert count.feed(b'"], [') == 3


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("*.py", "a/b.py", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a**c", "a/b/c", True),
        ("a/?/c", "a/b/c", True),
        ("a?c", "a/c", False),
        ("**/b", "ab", False),
        ("a/**/b", "a/b", True),
        ("", "", True),
        ("*", "", True),
        ("[a].(b)", "[a].(b)", True),
    ],
)
def test_given_a_pattern_of_paths_then_stars_stay_in_a_folder_and_pairs_cross(
    pattern: str, path: str, *, expected: bool
) -> None:
    assert fits(parts_of(pattern), path) is expected


@pytest.mark.parametrize(
    "pattern", ["**/" * 40, "*a" * 100, "**a" * 66, "**/*" * 49 + "x", "?" * 200]
)
def test_given_a_pattern_of_stars_when_every_path_is_compared_then_it_is_quick(
    pattern: str,
) -> None:
    parts = parts_of(pattern)
    with within(1):
        assert not any(fits(parts, f"{'a/' * 95}{number}b") for number in range(2_000))


@pytest.mark.parametrize("mark", ["[", "![", "*_", "- a\n", "1) a\n", "|\n|-\n", "&"])
def test_given_a_text_of_nothing_but_marks_when_shown_then_it_stays_as_it_was_written(
    mark: str,
) -> None:
    with within(1):
        shown = to_html((mark * LONGEST)[:LONGEST])
    assert shown.startswith("<p>This text is shown as written: it has too many marks")
    assert "<pre>" in shown


def test_given_a_wide_table_with_short_rows_when_shown_then_its_cells_count() -> None:
    wide = "a|" * 300 + "\n" + "-|" * 300 + "\n"
    with within(1):
        assert "<pre>" in to_html(wide + "b\n" * 4_000)
        assert "<table>" in to_html(wide + "b\n\n" + "text\n" * 1_000)


def test_given_a_text_as_written_when_shown_then_nothing_of_it_is_markup() -> None:
    shown = to_html("<script>\n" * MOST_MARKS, styles={"pre": 'a"b'})
    assert "<script>" not in shown
    assert '<pre style="a&quot;b">&lt;script&gt;' in shown


@pytest.mark.parametrize(
    "letters",
    [
        "".join(map(chr, range(0xF0000, 0xF0000 + 60_000))),
        "".join(c for c in map(chr, range(0x11_0000)) if unicodedata.category(c) in ("Mn", "Me")),
        "\u202e",
        "a\u0301\u0301\u0301\u0301",
    ],
    ids=["private characters", "every mark", "one direction", "marks in a row"],
)
def test_given_a_text_of_hidden_characters_when_made_visible_then_it_is_quick(
    letters: str,
) -> None:
    text = (letters * (120_000 // len(letters) + 1))[:120_000]
    with within(3):
        shown = visible(text)
    assert len(shown) > len(text)


def test_given_a_name_of_a_megabyte_when_looked_for_then_it_is_like_none() -> None:
    names = {f"read_file_{number}": number for number in range(200)}
    with within(0.5):
        assert closest("read_file_" * 100_000, names) == ()
        assert closest("read_file_1", ["read_file_" * 100_000]) == ()
        assert resolve(names, "." * 1_000_000) is None
    assert closest("read_fil_1", names)[0] == "read_file_1"


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"items": {"enum": [f"x{n}" for n in range(15_000)]}}, ["y"] * 80_000, "too long to be"),
        ({"items": {"const": ["a"] * 40_000}}, [["a"] * 10] * 20_000, "too long to be checked"),
        ({"items": {"required": [f"r{n}" for n in range(9_000)]}}, [{}] * 3_000, "too long to be"),
        (
            {"items": {"anyOf": [{"type": "string"}] * 50}},
            [1] * 20_000,
            "matches none of the alter",
        ),
        ({"allOf": [{"type": "integer"}] * 4_000}, "a" * 900_000, "too many alternatives"),
        ({"items": {"type": "string"}}, [1] * 300_000, "1 is not of type string"),
        ({"items": {"enum": ["x" * 99_000]}}, ["y"] * 9_000, "is not one of x"),
    ],
    ids=["enum", "const", "required", "anyOf", "allOf", "type", "long"],
)
def test_given_a_schema_and_a_value_that_multiply_when_checked_then_one_sentence_says_so(
    schema: dict[str, Any], value: object, sentence: str
) -> None:
    with within(1.5):
        check_schema(schema)
        problems = validate(schema, value)
    assert len(problems) == 1
    assert sentence in problems[0]


def test_given_thousands_of_patterns_in_a_schema_when_checked_then_it_is_refused() -> None:
    schema = {"allOf": [{"pattern": f"\\w{{1,{200 + n % 50}}}"} for n in range(3_000)]}
    with within(1), pytest.raises(Exception, match="has 3000 regular expressions: at most 200"):
        check_schema(schema)


def test_given_unknown_charsets_when_words_are_decoded_then_no_module_is_looked_for() -> None:
    value = "".join(f"=?x{number}?q?a?= " for number in range(20_000))
    with within(1):
        assert decode_words(value).startswith("aaa")


def test_given_a_boundary_of_line_ends_when_a_mail_is_read_then_it_has_no_parts() -> None:
    mark = b"%0A--" * 1_400
    raw = b"Content-Type: multipart/mixed; boundary*=utf-8''" + mark + b"\n\n" + b"\n--" * 300_000
    with within(1):
        assert read_body(*split_header(raw)).attachments == ()


def test_given_parts_of_a_mail_when_read_then_their_texts_are_bounded_together() -> None:
    part = b"--b\nContent-Type: text/plain\n\n" + b"a" * 900_000 + b"\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 8
    body = read_body(*split_header(raw))
    assert body.cut
    assert 1_900_000 < len(body.text) < 2_100_000


def test_given_blank_lines_around_when_a_heading_is_looked_for_then_each_line_is_read_once() -> (
    None
):
    with within(1):
        assert _place_of("a title", "\n1 " * 100_000 + "a  title \nx") == (300_000 - 2, 300_010 - 1)
        assert _place_of("a " * 99 + "b", "a\n" * 50_000) is None


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
def test_given_a_quote_that_is_never_closed_when_described_then_it_is_quick(quote: str) -> None:
    text = f"a = {quote}{'b' * 100_000}"
    with within(1):
        assert "closed" in describe_malformed("Unterminated (at end of document)", text).message


def test_given_fences_of_all_widths_when_read_then_each_closes_its_own() -> None:
    blocks = [f"{' ' * (n % 30)}{'`' * (3 + n % 40)}x\n{n}\n{'`' * 43}\n" for n in range(5_000)]
    with within(1):
        found = fenced("".join(blocks))
    assert [int(block.content) for block in found] == list(range(5_000))
    assert json.dumps(found[0].language) == '"x"'


def test_given_lines_that_repeat_when_compared_then_a_long_text_is_replaced_as_a_whole() -> None:
    for count in (MOST_COMPARED - 2, 20_000):
        before = [str(number % 100) for number in range(count)]
        after = [str(number * 37 % 100) for number in range(count)]
        with within(1):
            found = line_diff(["x", *before, "y"], ["x", *after, "y"], context=3)
        assert (" 0" in found) is (count <= MOST_COMPARED)  # a line that stays, between changes
    assert found[0] == "@@ -3,19999 +3,19999 @@"
    assert line_diff(before, before, context=3) == []
    assert line_diff(["a", "b"], ["a", "c"], context=1) == ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]
