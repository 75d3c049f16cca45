"""`heartbit result`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options

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
    from heartbit_site.cli import runs_report as report

    raise typer.Exit(report.result(url, run, wait=wait, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(result)
