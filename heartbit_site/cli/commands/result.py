"""`heartbit result`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

WAIT = typer.Option(options.OFF, "--wait", "-w", help="Wait until it has ended.")


def result(run: str = options.RUN, *, wait: bool = WAIT, as_json: bool = options.JSON) -> None:
    """Print a run's answer.

    The exit code says how the run ended; 1 also when it has not ended and --wait is not given.
    """
    begin("heartbit_site.cli.reports")
    raise typer.Exit(load("reports").result(run, wait=wait, as_json=as_json))
