"""`heartbit status`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: the last.")
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="List at most N runs.")


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
    from heartbit_site.cli import runs_report as report

    if run is None:
        code = report.list_runs(url, last, watch=watch, as_json=as_json)
    else:
        code = report.one_run(url, run, watch=watch, as_json=as_json, plain=plain)
    raise typer.Exit(code)


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(status)
