"""`heartbit doctor`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.load import load


def doctor(*, as_json: bool = options.JSON) -> None:
    """Check the installation and say how to mend what is wrong."""
    raise typer.Exit(load("doctor").doctor(as_json=as_json))
