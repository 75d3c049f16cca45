"""`heartbit usage`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.load import load
from heartbit_site.cli.readings import readings_at


def usage(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """Show what was used today and this month, and what may be."""
    raise typer.Exit(load("readings_report").usage(readings_at(url), as_json=as_json))
