"""The voice of docstrings, help texts, API descriptions, errors, browser code and SQL; class names.

The rules are in CONTRIBUTING.md. Names and literals in backticks are exempt from them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
FILES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
)

SCRIPTS = sorted((ROOT / "heartbit_site" / "static" / "heartbit").rglob("*.js"))
QUERIES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.sql"))

#: A label of one word, such as "when", opens nothing.
OPENING = re.compile(
    r"(What|Whether|Who|Why|Where|How|When|Which|The same|Those|It|Also|Of)\b\W+\w",
    re.IGNORECASE,
)
DIALECT = re.compile(
    r"\b(?:anew|away|told|nobody|somebody|whoever|whom|at work|under way|goes on|so many)\b",
    re.IGNORECASE,
)
#: Wording that an error must not have: "is none" reads as ``None``.
VAGUE = re.compile(r"\b(?:is none|is away|any more)\b", re.IGNORECASE)
#: A comment of JavaScript: in a block, after ``//`` on lines of its own, or at the end of a line.
COMMENT = re.compile(
    r"/\*(?P<block>(?:[^*]|\*(?!/))*)\*/"
    r"|^[ ]*//(?P<lines>[^\n]*(?:\n[ ]*//[^\n]*)*)"
    r"|(?<=[;,{}()])[ ]//(?P<end>[^\n]*)",
    re.MULTILINE,
)
#: The mark in front of a comment's line; the type and name of a tag; an example, which is indented.
MARGIN = re.compile(
    r"^[ ]*(?:\*|//)?[ ]?|@\w+[ ]+\{(?:[^{}]|\{[^{}]*\})*\}(?:[ ]+[\w\[\]]+)?|^.*[ ]{3}.*$",
    re.MULTILINE,
)
#: A comment of SQL: after ``--`` on lines of its own, or at the end of a line.
SQL_COMMENT = re.compile(
    r"^[ ]*--(?P<lines>[^\n]*(?:\n[ ]*--[^\n]*)*)|(?<=[;,{}()])[ ]+--(?P<end>[^\n]*)",
    re.MULTILINE,
)
LITERAL = re.compile(r"``.+?``|`[^`]+`", re.DOTALL)
#: Arguments, dictionary keys and class attributes that hold a text for a reader.
TEXTS = frozenset({"help", "help_text", "short_help", "epilog", "summary", "description"})
#: The position of ``summary`` in an ``Operation``.
SUMMARY = 3

#: Names that several public classes share, each with the reason.
SHARED = {
    "Account": "a provider account of a workspace, and the account a bridged process calls with",
    "Answer": "of a person to a tool, of a person in the CLI, of a provider, of a fake model",
    "Body": "of an inbound e-mail, of a request to the API, of a response over HTTP",
    "Child": "a child run, and a child process",
    "Column": "of a database table, of the admin's lists, and of a chart",
    "Conversation": "the row, the library's, and the one that a fake model server reads",
    "Event": "the base of a journal's event types, and a fact of a run in the library",
    "Kind": "of a schedule, of a channel in the CLI, of a prompt",
    "Limits": "of a dry run, of a provider account, of a response, of a run",
    "Server": "an embedded server, and the server that the CLI talks to",
    "Table": "a changed table of a dry run, and a printed one of the CLI",
    "ToolCall": "the row, and the part of a model's message",
    "ToolDefinition": "the row, and what is sent of it to a model",
    "Usage": "of a model call, of a workspace, and of a run in the library",
    "Workflow": "the row, and the builder of programs",
    "UserNotFoundError": "one code of the API for two operations, each with its own sentence",
}


class Text(NamedTuple):
    """A text of the source for a reader, with its place."""

    place: str
    text: str
    opens: bool


def texts() -> Iterator[Text]:
    """Yield each docstring and each text of ``TEXTS``; f-strings and sums piece by piece."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            for value in values_of(node):
                pieces = [
                    piece
                    for piece in ast.walk(value)
                    if isinstance(piece, ast.Constant) and isinstance(piece.value, str)
                ]
                first = min(pieces, key=attrgetter("lineno", "col_offset"), default=None)
                for piece in pieces:
                    place = f"{path.relative_to(ROOT)}:{piece.lineno}"
                    yield Text(place, str(piece.value).strip(), piece is first)


def values_of(node: ast.AST) -> list[ast.expr]:
    """Return the expressions of a node that hold a text for a reader."""
    match node:
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            match node.body:
                case [ast.Expr(ast.Constant(str()) as docstring), *_]:
                    return [docstring]
        case ast.keyword(arg=name, value=value) if name in TEXTS:
            return [value]
        case ast.Assign([ast.Name(name)], value) if name in TEXTS:
            return [value]
        case ast.Dict(keys, values):
            return [
                value
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and key.value in TEXTS
            ]
        case ast.AnnAssign(ast.Name("COMMANDS"), value=ast.Dict(values=values)):
            return values
        case ast.Call(ast.Name("Operation"), positional) if len(positional) > SUMMARY:
            return [positional[SUMMARY]]
    return []


def sentences_of_errors() -> Iterator[Text]:
    """Yield each text in ``raise SomeError("...")``, piece by piece.

    A piece such as "it has more than ..." completes the sentence of its caller, and opens nothing.
    """
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            for argument in node.exc.args:
                first = argument.values[0] if isinstance(argument, ast.JoinedStr) else argument
                for piece in ast.walk(argument):
                    if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                        place = f"{path.relative_to(ROOT)}:{piece.lineno}"
                        opens = piece is first and not piece.value.startswith("it ")
                        yield Text(place, piece.value.strip(), opens)


def comments_of_scripts() -> Iterator[Text]:
    """Yield each comment of the browser code, without types and examples."""
    for path in SCRIPTS:
        source = path.read_text()
        for found in COMMENT.finditer(source):
            place = f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, found.start()) + 1}"
            text = MARGIN.sub("", next(filter(None, found.groups()), "")).strip()
            yield Text(place, text, found["end"] is None)


def comments_of_queries() -> Iterator[Text]:
    """Yield each comment of the SQL functions."""
    for path in QUERIES:
        source = path.read_text()
        for found in SQL_COMMENT.finditer(source):
            place = f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, found.start()) + 1}"
            text = re.sub(r"^[ -]+", "", next(filter(None, found.groups()), ""), flags=re.MULTILINE)
            yield Text(place, text.strip(), found["end"] is None)


def fail_with(broken: list[str], rule: str) -> None:
    """Fail with one line per place that breaks the rule."""
    if broken:
        pytest.fail(f"{rule} ({len(broken)}):\n" + "\n".join(sorted(broken)), pytrace=False)


def test_texts_open_with_a_verb_or_a_noun_phrase() -> None:
    broken = [
        f'{found.place}: opens with "{match[1]}": {found.text.splitlines()[0][:80]}'
        for found in texts()
        if found.opens and (match := OPENING.match(found.text))
    ]
    fail_with(broken, "Open with an imperative verb (functions, options) or a noun phrase")


def test_texts_use_the_words_of_the_field() -> None:
    broken = [
        f'{found.place}: says "{match[0]}": {found.text.splitlines()[0][:80]}'
        for found in texts()
        if (match := DIALECT.search(LITERAL.sub("", found.text)))
    ]
    fail_with(broken, "Say it in the words of Django, Celery and HTTP")


@pytest.mark.parametrize("source", [sentences_of_errors, comments_of_scripts, comments_of_queries])
def test_errors_and_comments_open_and_speak_like_the_texts(
    source: Callable[[], Iterator[Text]],
) -> None:
    broken = []
    for found in source():
        text = LITERAL.sub("", found.text)
        match = DIALECT.search(text) or VAGUE.search(text)
        match = match or (OPENING.match(found.text) if found.opens else None)
        if match is not None:
            broken.append(f'{found.place}: says "{match[0]}": {text[:80]!r}')
    fail_with(broken, "Say it in the words of Django, Celery and HTTP")


def test_the_comments_of_queries_are_found() -> None:
    lines = "\n".join(path.read_text() for path in QUERIES).splitlines()
    marked = sum(1 for line in lines if "-- " in line or line.endswith("--"))
    assert sum(found.text.count("\n") + 1 for found in comments_of_queries()) == marked > 250


def test_the_comments_of_scripts_are_found() -> None:
    assert len(SCRIPTS) > 50
    assert sum(1 for _ in comments_of_scripts()) > 4 * len(SCRIPTS)
    assert sum(1 for _ in sentences_of_errors()) > 1000


def test_a_name_is_one_public_class() -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    broken = [
        f"{', '.join(found)}: several public classes are called {name}"
        for name, found in places.items()
        if len(found) > 1 and name not in SHARED
    ]
    broken += [
        f"{Path(__file__).relative_to(ROOT)}: SHARED names {name}, which no two classes share"
        for name in SHARED
        if len(places[name]) < 2
    ]
    fail_with(broken, "Rename one of the classes, or name them in SHARED with a reason")
