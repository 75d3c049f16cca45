"""Backend of a command's operations, here or on a server. No Django by itself."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import INVOCATION, one_line
from heartbit_site.contract.validation import sentence

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


In = TypeVar("In", bound=BaseModel)


def checked(model: type[In], given: Mapping[str, Any]) -> In:
    """Return what an operation takes, of what a command line says.

    Raises:
        CommandError: It would be refused; the sentence names the option, or else the field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        if "equal" in problem["type"] and str(problem["loc"][-1]).endswith("_seconds"):
            problem["msg"] += " seconds"
        problem["loc"] = ("body", "given", *problem["loc"])
        raise UsageError(_with_option(sentence(problem), problem["loc"][2:])) from None


def _with_option(said: str, location: Sequence[int | str]) -> str:
    """Return a sentence about a field with the option that it was typed as, if there is one."""
    steps = [str(step) for step in location]
    places = ["_".join(steps[:count]) for count in range(len(steps), 0, -1)]
    option = next((INVOCATION.options[one] for one in places if one in INVOCATION.options), "")
    return said.replace(f"The field {'.'.join(steps)} ", f"{option} ", 1) if option else said
