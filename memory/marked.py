# ruff: noqa: S608  the SQL consists of constants and the name of a row
"""Words that a text shares with a query, marked by PostgreSQL in all their inflections."""

from __future__ import annotations

import re
from typing import Final

_MARKED: Final = re.compile("\x02([^\x02\x03]*)\x03")
_MOST_WORDS: Final = 5


def marked_text(row: str) -> str:
    """Return SQL of a text in which its words of the query are marked.

    Args:
        row: Name of what has the columns ``text`` and ``language``; beside it stands ``asked``,
            as in ``memory.fusion``.
    """
    return f"""
        coalesce(ts_headline({row}.language::regconfig, {row}.text,
            (SELECT words FROM asked a WHERE a.language = {row}.language),
            'HighlightAll=true, StartSel=' || chr(2) || ', StopSel=' || chr(3)), '')
    """


def marked_words(text: str) -> tuple[str, ...]:
    """Return the first words that are marked in a text."""
    return tuple(dict.fromkeys(_MARKED.findall(text)))[:_MOST_WORDS]
