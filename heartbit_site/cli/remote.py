"""Which server the run commands talk to: --url, HEARTBIT_URL, or `[server] url` of a named file.

Usage::

    server = remote.server(option)       # None: there is none, the database is meant
    calls = remote.waiting(server)       # what waits for a person, as `heartbit approve --json`
    remote.decide(server, calls[0], "approve")

A file that nobody named, ./heartbit.toml, may have come with a repository: it never says where the
key is sent.

Nothing here, or in what it loads, knows Django: a remote command needs no database and starts fast.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.load import load
from heartbit_site.cli.output import note
from heartbit_site.cli.shared_options import named_workspace
from heartbit_site.config import locate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_UNNAMED: Final = f"./{locate.NAME}"

Verdict = Literal["approve", "edit", "answer", "deny"]
Outcome = Literal["retried", "done", "skipped"]


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
    """The server to talk to; None: the database of this installation is meant.

    Args:
        option: What ``--url`` says; it wins. Empty: this installation. None: it was not given.
        file: What ``--config`` names.
        environ: Where HEARTBIT_URL, HEARTBIT_API_KEY and HEARTBIT_CONFIG are looked up; the
            process's environment if None.

    Raises:
        ConfigurationError: The address cannot be used, there is no key, the address is that of
            a file which nobody named, or --workspace names a workspace.
    """
    environ = os.environ if environ is None else environ
    url, source = _configured(option, file, environ)
    if not url:
        return None
    address = _checked(url, source)
    if source == _UNNAMED:
        raise ConfigurationError(
            f"{source} names the server {address}: say --url {shlex.quote(address)}, or "
            f"HEARTBIT_CONFIG={locate.NAME}, to send your key there; or --url '' to use this "
            "installation."
        )
    if workspace := named_workspace():
        raise ConfigurationError(
            f"--workspace {workspace} is for this installation, but at {address} the API key "
            f"decides the workspace: leave it out and put a key of {workspace} into "
            "HEARTBIT_API_KEY, or work here with --url ''."
        )
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


def waiting(server: Server) -> list[dict[str, Any]]:
    """The tool calls that wait for a person, the oldest first.

    Each has ``run``, ``root``, ``call``, ``agent``, ``tool``, ``effect``, ``reason``,
    ``arguments``, ``digest`` and ``since``, and beside these ``task``, ``home`` and ``queue``; a
    question has a ``form``, the JSON Schema of its answer.

    Raises:
        CommandError: The server cannot be reached, or refuses.
    """
    return _calls(server, "/approvals")


def doubts(server: Server) -> list[dict[str, Any]]:
    """The tool calls of unknown outcome, the oldest first: as of `waiting`.

    They have ``question`` instead of ``digest`` and ``reason``.

    Raises:
        CommandError: The server cannot be reached, or refuses.
    """
    return _calls(server, "/doubts")


def settle(
    server: Server, call: Mapping[str, Any], outcome: Outcome, result: str = ""
) -> dict[str, Any]:
    """Say what became of a call of ``doubts``.

    Args:
        server: Where it waits.
        call: One of ``doubts``.
        outcome: What became, or is to become, of it.
        result: With ``done``: what the model reads as its answer.

    Returns:
        ``run``, ``call``, ``outcome`` and ``settled_by``.

    Raises:
        ConflictError: Somebody was quicker, or the run has ended; the sentence says who.
        CommandError: The server cannot be reached, or refuses.
    """
    address = f"/runs/{call['run']}/calls/{call['call']}/outcome"
    body = {"outcome": outcome, "result": result}
    settled: dict[str, Any] = load("remote_client").post(server, address, body)
    return settled


def decide(
    server: Server,
    call: Mapping[str, Any],
    verdict: Verdict,
    *,
    arguments: Mapping[str, Any] | None = None,
    answer: Any = None,
    reason: str = "",
    always: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Decide a call as it was shown.

    Args:
        server: Where it waits.
        call: One of ``waiting``.
        verdict: What to do with it.
        arguments: With ``edit``: what runs.
        answer: With ``answer``: a JSON value that fits the call's ``form``.
        reason: With ``deny``: what the model reads.
        always: With ``approve``: ``{"scope": "run" | "agent", "until": time | None}``.

    Returns:
        ``run``, ``call``, ``verdict`` (``approved``, ``edited``, ``answered``, ``denied``) and
        ``decided_by``.

    Raises:
        ConflictError: Somebody was quicker, or the run has ended; the sentence says who.
        CommandError: The server cannot be reached, or refuses.
    """
    body: dict[str, Any] = {"digest": call["digest"], "verdict": verdict}
    if arguments is not None:
        body["arguments"] = dict(arguments)
    if verdict == "answer":
        body["answer"] = answer
    if reason:
        body["reason"] = reason
    if always is not None:
        body["always"] = dict(always)
    address = f"/runs/{call['run']}/calls/{call['call']}/decision"
    decided: dict[str, Any] = load("remote_client").post(server, address, body)
    return decided


def _calls(server: Server, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load("remote_client").whole(server, path, "calls")["calls"]
    return found


def _configured(
    option: str | None, file: Path | None, environ: Mapping[str, str]
) -> tuple[str, str]:
    """The first address there is, and who says so."""
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


def _checked(url: str, source: str) -> str:
    """The address with its scheme, https unless another one is written.

    Raises:
        ConfigurationError: It cannot be one of a server.
    """
    try:
        return variables.server_address(url)
    except ValueError as error:
        raise ConfigurationError(f"{source} cannot be used: {error}.") from None
