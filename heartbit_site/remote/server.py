"""A Heartbit server, and the operations that it is asked for. No Django.

Usage::

    runs = request(Server("https://heartbit.example", key), LIST_RUNS, limit=20).runs
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError

from heartbit_site.contract.operation import Download
from heartbit_site.remote.errors import ServerError

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation

Out = TypeVar("Out")
_HERE: Final = ("localhost", "127.0.0.1", "::1")
KEY: Final = "idempotency_key"
_PLACE: Final = re.compile(r"\{(\w+)\}")  # of a value in a path


@dataclass(frozen=True, slots=True)
class Server:
    """A Heartbit server and how it is opened.

    Attributes:
        url: Its address, without a slash at the end.
        key: The API key; never printed.
    """

    url: str
    key: str = field(repr=False)


def sends_unencrypted(address: str) -> str:
    """Return the host to which a key would travel unencrypted over a network, or an empty text."""
    parts = urlsplit(address)
    is_open = parts.scheme == "http" and parts.hostname not in _HERE
    return parts.hostname or "" if is_open else ""


def request(
    server: Server, operation: Operation[Out], body: BaseModel | None = None, /, **given: Any
) -> Out:
    """Return what a server answers to an operation.

    Args:
        server: The server.
        operation: The operation.
        body: The body; fields that were not set are not sent.
        given: Parameters of its path and its further ones; None: not given.

    Raises:
        NotFoundError: Something does not exist.
        ConflictError: Its state does not allow it.
        RequestRefusedError: The server refuses the request.
        ServerError: The server cannot be reached, or answers in another form.
    """
    values = {name: value for name, value in given.items() if value is not None}
    path = _PLACE.sub(lambda found: quote(str(values.pop(found[1])), safe=""), operation.path)
    key = values.pop(KEY, None)
    from heartbit_site.remote.client import fetch, send  # noqa: PLC0415  httpx is slow to import

    if operation.is_file:
        file: Any = Download("", fetch(server, path, query=values))
        return cast("Out", file)
    json: dict[str, Any] | None = None
    if body is not None:
        json = body.model_dump(mode="json", exclude_unset=True, by_alias=True)
    answer = send(server, operation.method, path, query=values, body=json, key=key)
    return _read(operation, answer, server)


def _read(operation: Operation[Out], answer: Mapping[str, Any], server: Server) -> Out:
    """Return a server's answer as the view that the operation promises.

    Raises:
        ServerError: It is another one: the server is older, or none of Heartbit.
    """
    model: Any = operation.output
    try:
        view: Any = None if model is None else model.model_validate(answer)
    except ValidationError as error:
        field = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise ServerError(
            f"The server {server.url} answers in another form ({field}): is it as new as this "
            "command? `heartbit --version` says which it is.",
        ) from None
    found: Out = view
    return found
