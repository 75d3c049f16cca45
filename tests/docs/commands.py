"""The commands of a page of the documents, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
#: What users read: decisions say what was once thought.
PAGES: Final = tuple(
    sorted(
        path
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
        if path.name != "CHANGELOG.md" and path.parent.name != "decisions"
    )
)
_BLOCK: Final = re.compile(
    r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE
)
_SHELLS: Final = ("sh", "bash", "console", "")
_SPAN: Final = re.compile(r"`((?:[A-Z_]+=\S+ )*heartbit [^`]*)`")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*=")


@dataclass(frozen=True)
class Typed:
    """A command of a page.

    Attributes:
        line: Its line in the page, from 1.
        words: The program and its arguments, without what becomes of its output.
        variables: What is set for it alone.
    """

    line: int
    words: tuple[str, ...]
    variables: dict[str, str]

    def __str__(self) -> str:
        return shlex.join(self.words)


def blocks_of(page: Path) -> list[Typed]:
    """Return the commands of a page's code blocks; of a console's only what follows the prompt."""
    text = page.read_text()
    return [
        typed
        for block in _BLOCK.finditer(text)
        if block["language"] in _SHELLS
        for typed in _commands(
            block["language"], dedent(block["text"]), text.count("\n", 0, block.start()) + 2
        )
    ]


def spans_of(page: Path) -> list[Typed]:
    """Return the commands that a page names within its sentences."""
    text = page.read_text()
    outside = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    return [
        _typed(shlex.split(" ".join(span[1].split())), outside.count("\n", 0, span.start()) + 1)
        for span in _SPAN.finditer(outside)
    ]


def _commands(language: str, text: str, first: int) -> Iterator[Typed]:
    prompted = any(line.startswith("$ ") for line in text.splitlines())
    unfinished, start = "", first
    for number, line in enumerate(text.splitlines(), start=first):
        if not unfinished:
            start = number
            if prompted and not line.startswith("$ "):
                continue
            if not language and not line.startswith(("heartbit ", "curl ")):
                continue
            line = line.removeprefix("$ ")
        unfinished += f"{line}\n"
        if line.endswith("\\"):
            continue
        try:
            words = shlex.split(unfinished.replace("\\\n", " "), comments=True)
        except ValueError:  # an open quotation: the next line continues it
            continue
        unfinished = ""
        if words:
            yield _typed(words, start)
    assert not unfinished, f"an open quotation in line {start}: {unfinished}"


def _typed(words: list[str], line: int) -> Typed:
    count = 0
    while count < len(words) and _VARIABLE.match(words[count]):
        count += 1
    variables = dict(word.split("=", 1) for word in words[:count])
    itself = takewhile(lambda word: word not in (">", "|"), words[count:])
    return Typed(line, tuple(itself), variables)
