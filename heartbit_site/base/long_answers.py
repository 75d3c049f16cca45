"""Answers as HTML: beyond two screens they are folded, with an outline of their headings."""

from __future__ import annotations

import re
from typing import Final

from heartbit_site.base.markdown import to_html

#: Lines of two screens, and characters of a line.
MOST_LINES: Final = 80
_WIDTH: Final = 80
MOST_HEADINGS: Final = 40
_HEADING = re.compile(r"<h([1-3])>(.*?)</h\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def answer_html(text: str) -> str:
    """Return an answer as harmless HTML, folded if it is long.

    Headings of the outline are buttons, which ``web/run/fragment.js`` makes work.
    """
    shown = to_html(text)
    whole = f'<div class="markdown">{shown}</div>'
    if not is_long(text):
        return whole
    headings = [_TAG.sub("", said) for _, said in _HEADING.findall(shown)][:MOST_HEADINGS]
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
