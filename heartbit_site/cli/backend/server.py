"""The server that a command talks to: --url, HEARTBIT_URL, or `[server] url` of a named file.

Usage::

    server = remote.server(option)       # None: there is none, the database is meant

A file found by itself, ./heartbit.toml, may have come with a repository: it never says where the
key is sent.

Nothing here, or in what it loads, knows Django: a remote command needs no database and starts fast.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError

from heartbit_site.base import variable_formats, variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError
from heartbit_site.cli.terminal.output import INVOCATION, note
from heartbit_site.config import locate
from heartbit_site.contract.operation import Download

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_UNNAMED: Final = f"./{locate.NAME}"


@dataclass(frozen=True, slots=True)
class Server:
    """A Heartbit server and how it is opened.

    Attributes:
        url: Its address, without a slash at the end.
        key: The API key; never printed.
    """

    url: str
    key: str = field(repr=False)


def server(
    option: str | None = None,
    file: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Server | None:
    """Return the server to talk to; None: the database of this installation is meant.

    Args:
        option: What ``--url`` says; it wins. Empty: this installation. None: it was not given.
        file: What ``--config`` names.
        environ: Where HEARTBIT_URL, HEARTBIT_API_KEY and HEARTBIT_CONFIG are looked up; the
            process's environment if None.

    Raises:
        ConfigurationError: The address cannot be used, there is no key, the address is that of
            a file found by itself, or --workspace names a workspace.
    """
    environ = os.environ if environ is None else environ
    url, source = _configured(option, file, environ)
    if not url:
        return None
    try:  # https, unless another scheme is written
        address = variable_formats.server_address(url)
    except ValueError as error:
        raise ConfigurationError(f"{source} cannot be used: {error}.") from None
    _check_is_meant(source, address)
    key = variables.API_KEY.read(environ)
    if not key:
        raise ConfigurationError(
            f"{source} names the server {address}, but HEARTBIT_API_KEY is not set: make a key "
            "there with `heartbit keys create NAME`."
        )
    parts = urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in _HERE:
        host = parts.hostname
        note(f"The API key goes to {host} unencrypted: use https:// unless the network is yours.")
    return Server(address, key)


def _check_is_meant(source: str, address: str) -> None:
    """Refuse a server that a file found by itself names, or beside --workspace."""
    if source == _UNNAMED:
        raise ConfigurationError(
            f"{source} names the server {address}: say --url {shlex.quote(address)}, or "
            f"HEARTBIT_CONFIG={locate.NAME}, to send your key there; or --url '' to use this "
            "installation."
        )
    if workspace := INVOCATION.workspace:
        raise ConfigurationError(
            f"--workspace {workspace} is for this installation, but at {address} the API key "
            f"decides the workspace: leave it out and put a key of {workspace} into "
            "HEARTBIT_API_KEY, or work here with --url ''."
        )


def _configured(
    option: str | None, file: Path | None, environ: Mapping[str, str]
) -> tuple[str, str]:
    """Return the first address, and its source."""
    if option is not None:
        return option.strip(), "--url"
    variable = variables.URL.read(environ)
    if variable:
        return variable, "HEARTBIT_URL"
    found = locate.find(file, environ)
    if found is None:
        return "", ""
    named = file is not None or variables.CONFIG.read(environ)
    return locate.server_url(found), str(found) if named else _UNNAMED


Out = TypeVar("Out")
KEY: Final = "idempotency_key"
_PLACE: Final = re.compile(r"\{(\w+)\}")  # of a value in a path


class ServerBackend(Backend):
    """A server, by its REST API."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def rest(self) -> None:
        """Keep nothing open between requests anyway."""

    def carry_out(self, operation: Operation[Out], body: BaseModel | None, **given: Any) -> Out:
        """Return what the server answers."""
        values = {name: value for name, value in given.items() if value is not None}
        path = _PLACE.sub(lambda found: quote(str(values.pop(found[1])), safe=""), operation.path)
        key = values.pop(KEY, None)
        from heartbit_site.cli.backend.client import (  # noqa: PLC0415  httpx is slow to import
            fetch,
            send,
        )

        if operation.is_file:
            file: Any = Download("", fetch(self.server, path, query=values))
            return cast("Out", file)
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
