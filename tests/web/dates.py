"""Finds dates on a page that are not moments: every one of them is a ``<time>`` element."""

from __future__ import annotations

import re

#: Whose text is somebody's, or a program's.
_LEFT_OUT = re.compile(
    r"<(time|code|pre|script|style|textarea|option|svg)\b.*?</\1>|<!--.*?-->"
    r'|<span class="(?:task-line|hb-clip)[^>]*>.*?</span>|<[^>]*>',
    re.DOTALL,
)
_OTHER = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b|\b\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d{1,2} [A-Z]|\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}\b"
)


def other_dates(markup: str) -> list[str]:
    """Dates in the text of a page (HTML) outside of ``<time>``, code and JSON."""
    return _OTHER.findall(_LEFT_OUT.sub(" ", markup))
