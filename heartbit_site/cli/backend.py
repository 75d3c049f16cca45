"""Backend of a command's operations: this installation, or a server. No Django by itself.

::

    backend = backend_for(url)
    channel = backend.call(CHANGE_CHANNEL, body=ChannelChangeIn(enabled=False), channel_id=7)
    channels = backend.every(LIST_CHANNELS).channels
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from heartbit_site.cli import remote
from heartbit_site.cli.errors import CANNOT_START, CommandError, UsageError
from heartbit_site.cli.output import one_line
from heartbit_site.cli.startup import ensure_ready
from heartbit_site.contract.validation import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from heartbit_site.cli.remote import Server
    from heartbit_site.contract.operation import Operation

Out = TypeVar("Out")
T = TypeVar("T")
View = TypeVar("View", bound=BaseModel)
In = TypeVar("In", bound=BaseModel)
PAGE: Final = 1000  # rows that are asked for at once
KEY: Final = "idempotency_key"
_PLACE: Final = re.compile(r"\{(\w+)\}")  # of a value in a path


class Backend(ABC):
    """Does operations."""

    @abstractmethod
    def call(self, operation: Operation[Out], body: BaseModel | None = None, **given: Any) -> Out:
        """Return what an operation answers.

        Args:
            operation: Which one.
            body: What it takes; fields that were not set are not sent.
            given: The parameters of its path and its further ones; None: not given.

        Raises:
            NotFoundError: Something does not exist.
            ConflictError: Its state does not allow it (any more).
            CommandError: What was asked cannot be, or the server cannot be reached.
        """

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


class ServerBackend(Backend):
    """A server, by its REST API."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def rest(self) -> None:
        """Keep nothing open between requests anyway."""

    def call(self, operation: Operation[Out], body: BaseModel | None = None, **given: Any) -> Out:
        """Return what the server answers."""
        values = {name: value for name, value in given.items() if value is not None}
        path = _PLACE.sub(lambda found: quote(str(values.pop(found[1])), safe=""), operation.path)
        key = values.pop(KEY, None)
        from heartbit_site.cli.remote_client import send  # noqa: PLC0415  httpx is slow to import

        json: dict[str, Any] | None = None
        if body is not None:
            json = body.model_dump(mode="json", exclude_unset=True, by_alias=True)
        answer = send(self.server, operation.method, path, query=values, body=json, key=key)
        return read(operation, answer, self.server)


def read(operation: Operation[Out], answer: Mapping[str, Any], server: Server) -> Out:
    """Return a server's answer as the view that the operation promises.

    Raises:
        CommandError: It is another one: the server is older, or none of Heartbit.
    """
    model: Any = operation.output
    try:
        view: Any = None if model is None else model.model_validate(answer)
    except ValidationError as error:
        field = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise CommandError(
            f"The server {server.url} answers in another form ({field}): is it as new as this "
            "command? `heartbit --version` says which it is.",
            CANNOT_START,
        ) from None
    found: Out = view
    return found


def backend_for(url: str | None, file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return the server that an option or the environment names, else this installation.

    Args:
        url: What ``--url`` says; None: it was not given.
        file: What ``--config`` names.
        reads_only: As for ``ensure_ready``.

    Raises:
        ConfigurationError: As for ``remote.server`` and ``ensure_ready``.
        EmbeddedError: As for ``ensure_ready``.
    """
    server = remote.server(url, file)
    if server is not None:
        return ServerBackend(server)
    ensure_ready("heartbit_site.cli.local_backend", reads_only=reads_only)
    from heartbit_site.cli.local_backend import LocalBackend  # noqa: PLC0415  needs Django set up

    return LocalBackend()


def checked(model: type[In], given: Mapping[str, Any]) -> In:
    """Return what an operation takes, of what a command line says.

    Raises:
        CommandError: It would be refused; the sentence names the field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        problem["loc"] = ("body", "given", *problem["loc"])
        raise UsageError(sentence(problem)) from None
