"""Limits of a dry run: its time, and refusal of statements that would end its transaction."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import transaction
from django.db.transaction import TransactionManagementError
from psycopg.abc import AdaptContext
from psycopg.sql import Composable

from agents.errors import DryRunStoppedError

_LOCKED = "55P03"
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


class Limits:
    """Guard of a tool and its statements (as a ``connection.execute_wrapper``).

    Attributes:
        stopped: Why the tool was stopped, even if the tool swallowed the exception.
    """

    def __init__(self, seconds: float) -> None:
        self.stopped: DryRunStoppedError | None = None
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def __call__(
        self,
        execute: Callable[..., Any],
        statement: Any,
        parameters: Any,
        many: bool,  # noqa: FBT001  Django's signature
        context: dict[str, Any],
    ) -> Any:
        """Run a statement of the tool, if there is time left and it does not end the transaction.

        Raises:
            DryRunStoppedError: The time limit has passed.
            TransactionManagementError: The statement would end the transaction.
        """
        text = _text_of(statement, context["connection"].connection)
        parts = _parts_of(text)
        # Savepoint statements must pass: they roll back the tool's work.
        if self._is_over() and not all(map(_SAVEPOINT.match, parts)):
            raise self._late()
        if any(map(_END.match, parts)):
            raise TransactionManagementError(
                "A transactional tool must not end the transaction that it runs in."
            )
        return execute(statement, parameters, many, context)

    @contextmanager
    def around(self) -> Iterator[None]:
        """Roll back the writes of a failing tool, and detect that it was stopped."""
        try:
            with transaction.atomic():
                yield
        except BaseException as error:
            if _waited_for_a_lock(error):
                self.stopped = DryRunStoppedError(
                    "The tool waits for a lock that another transaction holds, so the dry run "
                    "was stopped and nothing was kept: try again in a moment."
                )
            raise
        finally:
            if self._is_over():
                self.stopped = self._late()

    def _is_over(self) -> bool:
        return time.monotonic() > self._until

    def _late(self) -> DryRunStoppedError:
        return DryRunStoppedError(
            f"The tool did not finish within {self._seconds:g} s, so the dry run was stopped and "
            "nothing was kept."
        )


def _waited_for_a_lock(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, psycopg.Error) and error.sqlstate == _LOCKED:
            return True
        error = error.__cause__ or error.__context__
    return False


def _text_of(statement: Any, session: AdaptContext) -> str:
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


def _parts_of(text: str) -> list[str]:
    """Split a text into statements, without comments and quoted parts."""
    kept, at = [], 0
    while (found := _ASIDE.search(text, at)) is not None:
        kept.append(text[at : found.start()])
        at = _past_comment(text, found.start()) if found[0] == "/*" else found.end()
    kept.append(text[at:])
    return [part.strip() for part in " ".join(kept).split(";") if part.strip()]


def _past_comment(text: str, start: int) -> int:
    """Return the index after a comment; comments nest."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
