"""Operations done by a server, over its REST API. No Django."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError

if TYPE_CHECKING:
    from heartbit_site.cli.backend.server import Server
    from heartbit_site.contract.operation import Operation

Out = TypeVar("Out")
KEY: Final = "idempotency_key"
_PLACE: Final = re.compile(r"\{(\w+)\}")  # of a value in a path


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
        from heartbit_site.cli.backend.client import send  # noqa: PLC0415  httpx is slow to import

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
