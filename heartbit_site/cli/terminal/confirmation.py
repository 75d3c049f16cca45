"""Confirmation of a removal, before and after it."""

from __future__ import annotations

import typer

from heartbit_site.cli.terminal.errors import OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import as_json, one_line, write, write_json


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
