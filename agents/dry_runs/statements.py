"""Classification of SQL statements by their effect on the transaction, from their text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from psycopg.sql import Composable

if TYPE_CHECKING:
    from psycopg.abc import AdaptContext

_SAVEPOINT = re.compile(r"(SAVEPOINT|RELEASE|ROLLBACK\s+TO)\b", re.IGNORECASE)
_END = re.compile(
    r"(COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+((WORK|TRANSACTION)\s+)?TO\b))\b",
    re.IGNORECASE,
)
# Parts that are not keywords: comments, literals, and quoted names.
_ASIDE = re.compile(
    r"""
      --[^\r\n]*
    | /\*
    | \be'(?:[^'\\]|\\.|'')*+'
    | '[^']*'
    | "[^"]*"
    | (?<![\w$])\$((?:[^\W\d]\w*)?)\$.*?\$\1\$
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


def text_of(statement: Any, session: AdaptContext) -> str:
    """Return a statement's text; empty for types that the driver refuses.

    Args:
        statement: Text, bytes, or an object composed with ``psycopg.sql``.
        session: The driver's connection.
    """
    if isinstance(statement, Composable):
        return statement.as_string(session)
    if isinstance(statement, bytes):
        return statement.decode(errors="replace")
    return statement if isinstance(statement, str) else ""


def parts_of(text: str) -> list[str]:
    """Split a text into statements, without comments and quoted parts."""
    kept, at = [], 0
    while (found := _ASIDE.search(text, at)) is not None:
        kept.append(text[at : found.start()])
        at = _past_comment(text, found.start()) if found[0] == "/*" else found.end()
    kept.append(text[at:])
    return [part.strip() for part in " ".join(kept).split(";") if part.strip()]


def are_savepoints(parts: list[str]) -> bool:
    """Return True if all statements only set or leave savepoints."""
    return all(_SAVEPOINT.match(part) for part in parts)


def end_transaction(parts: list[str]) -> bool:
    """Return True if a statement would end the transaction."""
    return any(_END.match(part) for part in parts)


def _past_comment(text: str, start: int) -> int:
    """Return the index after a comment; comments nest."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
