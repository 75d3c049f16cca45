"""Answers as HTML: beyond two screens they are folded, with an outline of their headings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from heartbit_site.base.markdown import to_html

#: Lines of two screens, and characters of a line.
MOST_LINES: Final = 80
_WIDTH: Final = 80
MOST_HEADINGS: Final = 40


def answer_html(text: str) -> str:
    """Return an answer as harmless HTML, folded if it is long.

    Headings of the outline are buttons, which ``web/run/fragment.js`` makes work.
    """
    shown = to_html(text)
    whole = f'<div class="markdown">{shown}</div>'
    if not is_long(text):
        return whole
    headings = islice(_headings(shown), MOST_HEADINGS)
    outline = "".join(
        f'<li><button type="button" class="plain" data-heading="{number}">{said}</button></li>'
        for number, said in enumerate(headings)
    )
    nav = f'<nav class="outline" aria-label="Outline"><ol>{outline}</ol></nav>' if outline else ""
    folds = '<button type="button" class="button small all">Show all</button>'
    return f'<div class="long-answer">{nav}{whole}{folds}</div>'


def is_long(text: str) -> bool:
    """Return True if a text takes about two screens or more."""
    return sum(1 + len(line) // _WIDTH for line in text.splitlines()) > MOST_LINES


def _headings(shown: str) -> Iterator[str]:
    """Yield the headings of sanitised HTML, down to the third level, without their tags."""
    for piece in shown.split("<h")[1:]:
        level, rest = piece[:2], piece[2:]
        if level in ("1>", "2>", "3>"):
            first, *tags = rest.partition(f"</h{level}")[0].split("<")
            yield first + "".join(tag.partition(">")[2] for tag in tags)
