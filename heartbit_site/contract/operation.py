"""The declaration of an operation: where it is found, who may use it, what goes in and out.

::

    LIST_CHANNELS = Operation(
        "channels.list_channels", "GET /channels", ChannelsOut, "List channels", MANAGE
    )
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heartbit_site import contract
from heartbit_site.contract.model import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from uuid import UUID

    from pydantic import BaseModel

Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Needs:
    """Rights that an operation needs.

    Attributes:
        scopes: The scopes; none: membership of the workspace is enough.
        either: One of the scopes is enough.
        operator: It concerns the installation: a superuser, or a key that the command line made.
    """

    scopes: tuple[str, ...] = ()
    either: bool = False
    operator: bool = False


MEMBER = Needs()
READ_RUNS = Needs(("runs:read",))
WRITE_RUNS = Needs(("runs:write",))
DECIDE = Needs(("approvals:decide",))
#: Members who see runs see what their calls wait for; a key may have the one scope alone.
READ_WAITING = Needs(("runs:read", "approvals:decide"), either=True)
READ_AGENTS = Needs(("agents:read",))
WRITE_AGENTS = Needs(("agents:write",))
#: A schedule is an agent's, and starts runs.
WRITE_SCHEDULES = Needs(("agents:write", "runs:write"))
MANAGE = Needs(("workspace:manage",))
#: What people who start runs may do for themselves, and managers for all.
MANAGE_OR_OWN = Needs(("workspace:manage", "runs:write"), either=True)
READ_AUDIT = Needs(("audit:read",))
OPERATE = Needs(("fleet:manage",), operator=True)


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Generic[Out]):
    """A query or a change that Heartbit offers.

    Attributes:
        handler: Implementation: a module of ``heartbit_site.operations`` and a function there. The
            module's name is also the operation's tag in OpenAPI, the function's its operationId.
        route: Method and path of its request; the path is one below ``/api/v1``, with
            ``{parameters}``.
        output: The model of the answer; None: the answer is empty.
        summary: A few words for a list of operations.
        needs: Rights that it takes.
        body: The model of the request's body; None: it takes none.
        status: Of a successful response.
        other_statuses: Further successful statuses, which the function may answer with.
        errors: Statuses of errors beside those that every operation has.
        command: The same at a terminal, as sentences of errors name it, with the path's
            ``{parameters}``; empty: they do not.
    """

    handler: str
    route: str
    output: type[Out] | None
    summary: str
    needs: Needs
    body: type[BaseModel] | None = None
    status: int = 200
    other_statuses: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    command: str = ""

    @property
    def noun(self) -> str:
        """The module of ``heartbit_site.operations`` that does it."""
        return self.handler.partition(".")[0]

    @property
    def name(self) -> str:
        """The function that does it."""
        return self.handler.partition(".")[2]

    @property
    def rows(self) -> str:
        """The field of ``output`` that comes in pages."""
        output: Any = self.output
        return rows_of(output)

    @property
    def method(self) -> str:
        """The request's method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The request's path below ``/api/v1``."""
        return self.route.partition(" ")[2]


@dataclass(frozen=True, slots=True)
class Answered(Generic[Out]):
    """An answer whose status is not the usual one of its operation."""

    status: int
    view: Out


@dataclass(frozen=True, slots=True)
class PendingAnswer(Generic[Out]):
    """An answer that waits for the end of a run.

    Attributes:
        run_id: The run.
        seconds: Longest wait.
        read: Returns the answer after the wait.
    """

    run_id: UUID
    seconds: float
    read: Callable[[], Out | Answered[Out]]


def find_operation(handler: str) -> Operation[Any] | None:
    """Return the operation of a name such as ``agents.list_agents``; None: there is none."""
    noun = handler.partition(".")[0]
    if not noun.isidentifier():  # a server has named it
        return None
    try:
        module = importlib.import_module(f"heartbit_site.contract.{noun}")
    except ModuleNotFoundError:
        return None
    return next((found for found in operations_of(module) if found.handler == handler), None)


def noun_modules() -> list[ModuleType]:
    """Return the modules of the contract that declare operations, by name."""
    names = [
        found.name for found in pkgutil.iter_modules(contract.__path__, f"{contract.__name__}.")
    ]
    return [module for module in map(importlib.import_module, names) if operations_of(module)]


def operations_of(module: ModuleType) -> list[Operation[Any]]:
    """Return the operations that a module of the contract declares, alone or in tuples."""
    declared = [value if isinstance(value, tuple) else (value,) for value in vars(module).values()]
    return [found for values in declared for found in values if isinstance(found, Operation)]
