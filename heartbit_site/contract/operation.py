"""The declaration of an operation: route, required rights, input and output.

::

    NOUN = Noun("channels", read=MANAGE, write=MANAGE)

    LIST_CHANNELS = NOUN.get("list_channels", "/channels", ChannelsOut)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from pydantic import BaseModel

from heartbit_site import contract
from heartbit_site.contract.model import rows_of

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
    """A query or change of Heartbit.

    Attributes:
        handler: Implementation: a module of ``heartbit_site.operations`` and a function there. The
            module's name is also the operation's tag in OpenAPI, the function's its operationId.
        route: Method and path of its request; the path is one below ``/api/v1``, with
            ``{parameters}``.
        output: The model of the answer; None: the answer is empty.
        summary: Short title for a list of operations.
        needs: Rights that it requires.
        body: The model of the request's body; None for no body.
        status: Of a successful response.
        other_statuses: Further successful statuses that the function may return.
        errors: Statuses of errors besides those of every operation.
        module: The module of ``heartbit_site.operations`` that the function is in, if it is not
            the handler's: a short command imports what it needs.
        command: The equivalent command, for error sentences, with the path's ``{parameters}``;
            empty if they do not name it.
        is_file: Its answer is a ``Download``, which is sent as it is.
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
    module: str = ""
    command: str = ""
    is_file: bool = False

    @property
    def noun(self) -> str:
        """The module of ``heartbit_site.operations`` that implements it."""
        return self.handler.partition(".")[0]

    @property
    def name(self) -> str:
        """The function that implements it."""
        return self.handler.partition(".")[2]

    @property
    def rows(self) -> str:
        """The field of ``output`` that is paginated."""
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


class Further(TypedDict, total=False):
    """Settings that only some operations have; see ``Operation``."""

    needs: Needs
    body: type[BaseModel]
    status: int
    other_statuses: tuple[int, ...]
    errors: tuple[int, ...]
    module: str
    command: str


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun of the contract, whose methods declare its operations.

    Attributes:
        name: Its name, by default also of the module of ``heartbit_site.operations`` with a
            function for each of them.
        read: Rights that its queries require, unless one names others.
        write: Rights that its changes require, unless one names others.
        module: The module with the functions, if it is not one of the noun's name.
    """

    name: str
    read: Needs
    write: Needs = OPERATE
    module: str = ""

    def get(
        self, name: str, path: str, output: type[Out], summary: str = "", **options: Unpack[Further]
    ) -> Operation[Out]:
        """Declare a query: its function, path and answer, and its title if not of its name."""
        return self._declare(name, f"GET {path}", output, summary, {"needs": self.read, **options})

    def download(
        self, name: str, path: str, summary: str = "", **options: Unpack[Further]
    ) -> Operation[Download]:
        """Declare a query whose answer is a file."""
        more = {"needs": self.read, "is_file": True, **options}
        return self._declare(name, f"GET {path}", Download, summary, more)

    def post(
        self, name: str, path: str, output: type[Out], summary: str = "", **options: Unpack[Further]
    ) -> Operation[Out]:
        """Declare an action as ``get`` declares a query."""
        return self._declare(name, f"POST {path}", output, summary, {**options})

    def patch(
        self, name: str, path: str, output: type[Out], summary: str = "", **options: Unpack[Further]
    ) -> Operation[Out]:
        """Declare a change of settings as ``get`` declares a query."""
        return self._declare(name, f"PATCH {path}", output, summary, {**options})

    def delete(
        self, name: str, path: str, summary: str = "", **options: Unpack[Further]
    ) -> Operation[None]:
        """Declare a removal, whose answer is empty."""
        return self._declare(name, f"DELETE {path}", None, summary, {"status": 204, **options})

    def _declare(
        self, name: str, route: str, output: type[Out] | None, summary: str, options: dict[str, Any]
    ) -> Operation[Out]:
        given = {"needs": self.write, "module": self.module, **options}
        return Operation(f"{self.name}.{name}", route, output, summary or _title(name), **given)


def _title(name: str) -> str:
    """Return the title of an operation by its function: ``show_tool`` is "Get a tool"."""
    verb, _, noun = name.partition("_")
    verb = {"show": "Get", "remove": "Delete"}.get(verb, verb.capitalize())
    article = "" if verb == "List" else "an " if noun.startswith(tuple("aeiou")) else "a "
    return f"{verb} {article}{noun.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class Download:
    """A file as an answer.

    Attributes:
        name: The name that it is saved under.
        content: Its content; text is sent in UTF-8.
    """

    name: str
    content: str | bytes

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        return self.content.encode() if isinstance(self.content, str) else self.content


@dataclass(frozen=True, slots=True)
class Answered(Generic[Out]):
    """An answer whose status is not the usual one of its operation."""

    status: int
    view: Out


@dataclass(frozen=True, slots=True)
class PendingAnswer(Generic[Out]):
    """A response that an operation awaits on the loop instead of blocking a thread.

    Attributes:
        wait: Returns the answer once it is there.
    """

    wait: Callable[[], Awaitable[Out | Answered[Out]]]


def find_operation(handler: str) -> Operation[Any] | None:
    """Return the operation of a name such as ``agents.list_agents``, or None."""
    noun = handler.partition(".")[0]
    if not noun.isidentifier():  # a server has named it
        return None
    name = f"{contract.__name__}.{noun}"
    # All of them take half a second; few nouns are in another module than that of their name.
    modules = [importlib.import_module(name)] if find_spec(name) else noun_modules()
    operations = (found for module in modules for found in operations_of(module))
    return next((found for found in operations if found.handler == handler), None)


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
