"""Confirmation of a removal."""

from __future__ import annotations

import typer

from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.keyboard import is_interactive


def confirm_removal(things: str, *, yes: bool) -> None:
    """Ask a person whether some things may be removed, unless ``--yes`` was given.

    Raises:
        CommandError: The answer is no, or there is no terminal to ask at.
    """
    if yes:
        return
    if not is_interactive():
        raise CommandError(f"Say --yes if {things} may go.", USAGE)
    if not typer.confirm(f"Remove {things}?", err=True):
        raise CommandError("Nothing was removed.")
