"""The server that a command talks to: --url, HEARTBIT_URL, or `[server] url` of a named file.

Usage::

    server = remote.server(option)       # None: there is none, the database is meant

A file found by itself, ./heartbit.toml, may have come with a repository: it never says where the
key is sent.

Nothing here, or in what it loads, knows Django: a remote command needs no database and starts fast.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from heartbit_site.base import variable_formats, variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError, LostError, UsageError
from heartbit_site.cli.terminal.output import INVOCATION, note
from heartbit_site.config import locate
from heartbit_site.remote.errors import RequestRefusedError, ServerError, StreamLostError
from heartbit_site.remote.server import Server, request, sends_unencrypted

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation

_UNNAMED: Final = f"./{locate.NAME}"


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
    if host := sends_unencrypted(address):
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


@contextmanager
def as_command_errors() -> Iterator[None]:
    """Turn errors of a server into those of commands, with their exit codes."""
    try:
        yield
    except StreamLostError as error:
        raise LostError(str(error), CANNOT_START) from error
    except ServerError as error:
        raise CommandError(str(error), CANNOT_START) from error
    except RequestRefusedError as error:
        raise UsageError(str(error), remedy=error.remedy) from error


class ServerBackend(Backend):
    """A server, by its REST API."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def rest(self) -> None:
        """Keep nothing open between requests anyway."""

    def carry_out(self, operation: Operation[Out], body: BaseModel | None, **given: Any) -> Out:
        """Return what the server answers."""
        with as_command_errors():
            return request(self.server, operation, body, **given)
