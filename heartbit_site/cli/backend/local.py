"""Operations done in this installation, by the user of the terminal."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from django.contrib.auth import get_user_model
from django.db import connections
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from heartbit_site.base import orm
from heartbit_site.base.access import Access, workspaces_of
from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError
from heartbit_site.base.os_user import terminal_user
from heartbit_site.base.scopes import SCOPES
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.terminal.errors import CANNOT_START, USAGE, CommandError, UsageError
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.contract.operation import Answered, Operation, PendingAnswer
from heartbit_site.contract.validation import sentence
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.lookup import function_of

Out = TypeVar("Out")
T = TypeVar("T")
#: Statuses from here on mean: it was well asked, but cannot be done now.
LATER: Final = 429
LONGEST_NAME: Final = 200  # of who started a run
#: A row's number is a text in an address.
_AS_IN_ADDRESSES: Final = ConfigDict(coerce_numbers_to_str=True)


class LocalBackend(Backend):
    """This installation, in the workspace that the command names.

    Args:
        via: ``inline`` for a command that asks while it shows a run.
    """

    def __init__(self, via: Literal["terminal", "inline"] = "terminal") -> None:
        self.access = Access(
            workspace=default_workspace(),
            name=terminal_user().name,
            via=via,
            scopes=frozenset(SCOPES),
            user_id=None,
        )

    def act_for(self, username: str) -> None:
        """Do the operations for a member; the audit names the user of the terminal too."""
        workspace = self.access.workspace
        user = get_user_model().objects.filter(username=username, is_active=True).first()
        if user is None or not workspaces_of(user).filter(pk=workspace.pk).exists():
            raise UsageError(
                f"The workspace {workspace.slug} has no member {one_line(username)}: "
                "`heartbit users list` shows them all."
            )
        name = f"{username}, by {self.access.name}"[:LONGEST_NAME]
        self.access = replace(self.access, name=name, user_id=user.pk)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what a function returns, run in a thread that may use the ORM."""
        return await orm.run_in_thread(work)

    def rest(self) -> None:
        """Close this thread's connections: the next one is new, whatever happens meanwhile."""
        connections.close_all()

    def carry_out(self, operation: Operation[Out], body: BaseModel | None, **given: Any) -> Out:
        """Return what the operation's function does; refused as a server would refuse it."""
        function = function_of(operation)
        values = _checked(function, given)
        if body is not None:
            values["body"] = body
        try:
            found = function(self.access, **values)
            if isinstance(found, PendingAnswer):
                # The next one is new, whatever becomes of the database meanwhile.
                connections.close_all()
                found = asyncio.run(_awaited(found))
        except (NotFoundError, ConflictError, CommandError):
            raise
        except HeartbitError as error:
            from heartbit_site.api.errors import status_of  # noqa: PLC0415  it imports the API

            code = CANNOT_START if status_of(error) >= LATER else USAGE
            raise CommandError(str(error), code, remedy=error.remedy) from error
        view: Out = found.view if isinstance(found, Answered) else found
        return view


def _checked(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were given, as the function's parameters.

    Raises:
        CommandError: One does not fit.
    """
    declared = inspect.signature(function, eval_str=True).parameters
    values = {}
    for name, value in given.items():
        if value is None:
            continue
        kind: TypeAdapter[Any] = TypeAdapter(declared[name].annotation, config=_AS_IN_ADDRESSES)
        try:
            values[name] = kind.validate_python(value)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            problem["loc"] = ("query", name)
            raise UsageError(sentence(problem)) from None
    return values


async def _awaited(pending: PendingAnswer[Out]) -> Out | Answered[Out]:
    return await pending.wait()
