from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbit_site.config.positions import positions
from heartbit_site.config.toml_text import key, value
from tests.config.documents import TEXT, VALUES, documents

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = """\
# [agents]
title = "x" # name = 1

[provider]
retry.max_retries = 3
"quoted \\"key" = '''
[not.a.table]
'''

[[agents]]
name = "a"
tools = [
  "one", # "two"
  { name = "three", approval.x = "]" },
]

[[agents]]
  name = \"\"\"b \\\"\"\" ""\"\"\"
when = 1979-05-27 07:32:00

  [agents.response_schema]
  type = "object"
  [[agents.list]]
  x = [[1, 2], [3]]
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("title",), (2, 1)),
        (("provider",), (4, 2)),
        (("provider", "retry", "max_retries"), (5, 7)),
        (("provider", 'quoted "key'), (6, 1)),
        (("agents", 0), (10, 3)),
        (("agents", 0, "tools", 0), (13, 3)),
        (("agents", 0, "tools", 1, "name"), (14, 5)),
        (("agents", 0, "tools", 1, "approval", "x"), (14, 30)),
        (("agents", 1), (17, 3)),
        (("agents", 1, "name"), (18, 3)),
        (("agents", 1, "when"), (19, 1)),
        (("agents", 1, "response_schema", "type"), (22, 3)),
        (("agents", 1, "list", 0, "x", 1, 0), (24, 17)),
    ],
)
def test_a_key_is_where_it_is_written(path: tuple[str | int, ...], place: tuple[int, int]) -> None:
    assert positions(EXAMPLE)[path] == place


def test_lines_are_counted_alike_with_either_line_ending() -> None:
    assert positions(EXAMPLE.replace("\n", "\r\n")) == positions(EXAMPLE)


@settings(max_examples=300)
@given(documents())
def test_every_key_of_a_generated_document_is_found_where_it_is_written(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, content = document
    assert tomllib.loads(text) == content
    lines = text.split("\n")
    places = positions(text)
    for path in _paths(content, ()):
        line, column = places[path]
        last = path[-1]
        written = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        if isinstance(last, str):
            assert written.startswith(key(last)), path
        else:
            assert written[0] not in " \t\n#,]}", path
    assert set(places) == set(_paths(content, ()))


@settings(max_examples=300)
@given(VALUES, TEXT)
def test_a_written_value_reads_back_as_itself(content: Any, name: str) -> None:
    again = tomllib.loads(f"{key(name)} = {value(content)}\n")
    assert again == {name: content}
    assert repr(again[name]) == repr(content)  # 1 is not 1.0 and not True


QUOTES = st.text(st.sampled_from("\"'\\\n\r\t x\x00\x1b\u202e\u2028é"), max_size=20)


@settings(max_examples=500)
@given(QUOTES)
def test_quotes_backslashes_and_line_breaks_survive(content: str) -> None:
    written = f"x = {value(content)}\n"
    assert tomllib.loads(written)["x"] == content
    assert not set(written) & set("\r\x00\x1b\u202e\u2028")


def test_a_prompt_of_several_lines_stays_readable() -> None:
    assert value('Say "hi".\nThen stop.') == '"""\nSay "hi".\nThen stop."""'
    assert value("C:\\x\n") == "'''\nC:\\x\n'''"
    assert value('a "word"') == "'a \"word\"'"


def test_what_toml_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="NoneType has no TOML form"):
        value({"a": None})


def _paths(content: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content)
    for name, below in inner:
        yield (*path, name)
        if isinstance(below, dict | list):
            yield from _paths(below, (*path, name))
