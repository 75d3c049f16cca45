"""Sentences for pages: their first one, and commands in them as code."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"(])|\n")
_MOST = 200


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, at most 200 characters of it."""
    first = _END.split(text.strip(), maxsplit=1)[0]
    return first if len(first) <= _MOST else f"{first[: _MOST - 1]}…"


def with_code(text: str) -> SafeString:
    """Return a sentence as markup; what is in backticks, such as a command, is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one is not closed
        return format_html("{}", text)
    marked = (("<code>{}</code>" if n % 2 else "{}", part) for n, part in enumerate(parts))
    return format_html_join("", "{}", ((format_html(form, part),) for form, part in marked))
