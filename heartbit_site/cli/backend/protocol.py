"""Backend of a command's operations, here or on a server. No Django by itself."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from heartbit_site.cli.backend.checked import checked
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import one_line

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation

Out = TypeVar("Out")
T = TypeVar("T")
View = TypeVar("View", bound=BaseModel)
Given = BaseModel | Mapping[str, Any]
PAGE: Final = 1000  # rows that are asked for at once


def body_of(operation: Operation[Any], given: Given | None) -> BaseModel | None:
    """Return the body of a request, of what a command line says.

    Raises:
        CommandError: As for ``checked``.
    """
    if given is None or isinstance(given, BaseModel) or operation.body is None:
        return given if isinstance(given, BaseModel) else None
    return checked(operation.body, given)


class Backend(ABC):
    """Does operations."""

    def call(self, operation: Operation[Out], body: Given | None = None, **given: Any) -> Out:
        """Return what an operation answers.

        Args:
            operation: Which one.
            body: What it takes, or what a command line says of it, which is checked; fields that
                were not set are not sent.
            given: The parameters of its path and its further ones; None: not given.

        Raises:
            NotFoundError: Something does not exist.
            ConflictError: Its state does not allow it (any more).
            CommandError: What was asked cannot be, or the server cannot be reached.
        """
        return self.carry_out(operation, body_of(operation, body), **given)

    @abstractmethod
    def carry_out(self, operation: Operation[Out], body: BaseModel | None, **given: Any) -> Out:
        """Return what an operation answers to a body that is in order; see ``call``."""

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what a function returns that calls operations, without blocking the loop."""
        return await asyncio.to_thread(work)

    def act_for(self, username: str) -> None:
        """Do the operations from now on for a member of the workspace, whose account starts runs.

        Raises:
            UsageError: There is no such member, or the command talks to a server.
        """
        raise UsageError(
            f"--as {one_line(username)} works on this installation alone: a server's key cannot "
            "act for a member."
        )

    @abstractmethod
    def rest(self) -> None:
        """Close what would grow stale while a person thinks."""

    def every(self, operation: Operation[View], **given: Any) -> View:
        """Return the answer of a list with the rows of all its pages; see ``call``."""
        found = self.call(operation, limit=PAGE, **given)
        rows = list(getattr(found, operation.rows))
        last: Any = found
        while last.next_cursor is not None:
            last = self.call(operation, limit=PAGE, cursor=last.next_cursor, **given)
            rows += getattr(last, operation.rows)
        return found.model_copy(update={operation.rows: rows, "next_cursor": None})
