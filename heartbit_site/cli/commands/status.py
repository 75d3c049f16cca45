"""`heartbit status`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote, remote_options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: the last.")
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="How many runs to list.")


def status(
    run: str | None = RUN,
    *,
    last: int = LAST,
    url: str | None = remote_options.URL,
    watch: bool = options.WATCH,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Show the last runs, or one of them with its sub-agents."""
    server = remote.server(url)
    if server is not None:
        there = load("remote_runs")
        if run is None:
            code = there.last_runs(server, last, watch=watch, as_json=as_json)
        else:
            code = there.one_run(server, run, watch=watch, as_json=as_json, plain=plain)
        raise typer.Exit(code)
    begin("heartbit_site.cli.reports")
    reports = load("reports")
    if run is None:
        code = reports.last_runs(last, watch=watch, as_json=as_json)
    else:
        code = reports.one_run(run, watch=watch, as_json=as_json, plain=plain)
    raise typer.Exit(code)
