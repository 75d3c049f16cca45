"""`heartbit cancel`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote, remote_options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load


def cancel(
    run: str = options.RUN, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Cancel a run and its sub-agents."""
    server = remote.server(url)
    if server is not None:
        raise typer.Exit(load("remote_runs").cancel(server, run, as_json=as_json))
    begin("heartbit_site.cli.reports")
    raise typer.Exit(load("reports").cancel(run, as_json=as_json))
