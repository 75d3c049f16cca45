"""`heartbit cancel`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options


def cancel(
    run: str = options.RUN, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Cancel a run and its sub-agents."""
    from heartbit_site.cli import runs_report as report

    raise typer.Exit(report.cancel(url, run, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(cancel)
