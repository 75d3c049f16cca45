"""Limits of a dry run: its time, and statements that would end its transaction."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import transaction
from django.db.transaction import TransactionManagementError

from agents.dry_runs import statements
from agents.errors import DryRunStoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOCKED = "55P03"


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
        text = statements.text_of(statement, context["connection"].connection)
        parts = statements.parts_of(text)
        # Savepoint statements have to pass: they roll back the tool's work.
        if self._is_over() and not statements.are_savepoints(parts):
            raise self._late()
        if statements.end_transaction(parts):
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
