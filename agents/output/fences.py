"""Fenced code blocks in a text: CommonMark 0.31, section 4.5, at any indentation.

Models indent fences under list items, so the depth of an opening fence is not limited. A closing
fence may be at most three columns deeper than its opening, so fences quoted in code do not end it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_BACKTICKS = re.compile("`+")
_LANGUAGE_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class Fenced:
    """One block.

    Attributes:
        language: First word after the fence, in lower case, or an empty string.
        content: Lines between the fences; the last one ends with a line break.
        closed: False if the text ends before the closing fence.
    """

    language: str
    content: str
    closed: bool


def fenced(text: str) -> tuple[Fenced, ...]:
    """Return the fenced blocks of a text, in order; a longer fence may contain shorter ones."""
    blocks: list[Fenced] = []
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            continue
        indent, fence, information = opening.groups()
        content: list[str] = []
        closed = False
        for inner in lines:
            closed = _closes(inner, fence, len(indent) + 3)
            if closed:
                break
            content.append(_outdented(inner, len(indent)))
        if not closed and content and not content[-1]:
            content.pop()  # the text's last line break starts no line
        words = information.split()
        language = words[0].lower()[:_LANGUAGE_CHARACTERS] if words else ""
        blocks.append(Fenced(language, "".join(f"{inner}\n" for inner in content), closed))
    return tuple(blocks)


def _closes(line: str, fence: str, columns: int) -> bool:
    """Return True if a line is a closing fence, at most some columns deep."""
    found = line.lstrip(" ")
    marks = found.rstrip(" \t")
    return (
        len(line) - len(found) <= columns and len(marks) >= len(fence) and not marks.strip(fence[0])
    )


def _outdented(line: str, columns: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(columns, blank) :]


def in_fence(content: str, language: str) -> str:
    """Return a text as a fenced block; the fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(content)), default=0))
    return f"{fence}{language}\n{content}\n{fence}"
