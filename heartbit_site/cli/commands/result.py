"""`heartbit result`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote, remote_options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

WAIT = typer.Option(options.OFF, "--wait", "-w", help="Wait until it has ended.")


def result(
    run: str = options.RUN,
    *,
    wait: bool = WAIT,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Print a run's answer.

    The exit code says how the run ended; 1 also when it has not ended and --wait is not given.
    """
    server = remote.server(url)
    if server is not None:
        raise typer.Exit(load("remote_runs").result(server, run, wait=wait, as_json=as_json))
    begin("heartbit_site.cli.reports")
    raise typer.Exit(load("reports").result(run, wait=wait, as_json=as_json))
