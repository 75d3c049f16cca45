"""The backend that a command's options name, and the verbs that most nouns have.

::

    agent = call(START_AGENT, name="writer")
    channels = backend().every(LIST_CHANNELS).channels
    print_all(LIST_CHANNELS, CHANNELS)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from heartbit_site.cli.backend.protocol import Backend, Given, Out, View, body_of
from heartbit_site.cli.backend.server import ServerBackend, server
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.terminal.errors import OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import INVOCATION, as_json, one_line, write, write_json
from heartbit_site.cli.terminal.table import Table, print_list
from heartbit_site.contract.operation import Operation


def backend(file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return what does the command's operations: the server that is named, or this installation.

    Args:
        file: What ``--config`` names, for a command that has its own.
        reads_only: As for ``ensure_ready``.

    Raises:
        ConfigurationError: As for ``server`` and ``ensure_ready``.
        EmbeddedError: As for ``ensure_ready``.
    """
    return backend_for(INVOCATION.url, file, reads_only=reads_only)


def backend_for(url: str | None, file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return the backend of an address, as ``backend`` does.

    Args:
        url: What ``--url`` says; empty: this installation; None: it was not given.
        file: As for ``backend``.
        reads_only: As for ``ensure_ready``.
    """
    named = server(url, file)
    if named is not None:
        return ServerBackend(named)
    ensure_ready("heartbit_site.cli.backend.local", reads_only=reads_only)
    from heartbit_site.cli.backend.local import LocalBackend  # noqa: PLC0415  needs Django set up

    return LocalBackend()


def call(operation: Operation[Out], given: Given | None = None, **more: Any) -> Out:
    """Return what an operation answers; what it is given is checked before anything starts.

    Args:
        operation: Which one.
        given: As for ``Backend.call``.
        more: As for ``Backend.call``; ``reads_only`` is for ``backend``.
    """
    body = body_of(operation, given)
    return backend(reads_only=more.pop("reads_only", False)).call(operation, body, **more)


def send_change(
    operation: Operation[Out],
    named: Mapping[str, Any],
    server: Backend | None = None,
    /,
    **place: Any,
) -> Out:
    """Return what an operation answers that changes what the command line names.

    Raises:
        CommandError: Nothing is named, or as for ``checked``.
    """
    if not named:
        raise UsageError(f"Say what is to be different: `{INVOCATION.command} --help`.")
    body = body_of(operation, named)
    return (server or backend()).call(operation, body, **place)


def print_all(
    operation: Operation[View],
    table: Table[Any],
    *,
    none: str = "",
    reads_only: bool = False,
    **given: Any,
) -> int:
    """Print all rows of a list, or ``none``; return the exit code."""
    return print_list(backend(reads_only=reads_only).every(operation, **given), table, none=none)


def confirm_removal(things: str, *, yes: bool) -> None:
    """Ask a person whether some things may be removed, unless ``--yes`` was given.

    Raises:
        CommandError: The answer is no, or there is no terminal to ask at.
    """
    if yes:
        return
    if not is_interactive():
        raise UsageError(f"Say --yes if {things} may go.")
    if not typer.confirm(f"Remove {things}?", err=True):
        raise CommandError("Nothing was removed.")


def print_removed(number: int, name: str, *, stays: str) -> int:
    """Print a removal as JSON, or as a sentence with what stays; return the exit code."""
    if as_json():
        write_json({"id": number, "name": name})
    else:
        write(f"Removed {one_line(name)}; {stays}.")
    return OK
