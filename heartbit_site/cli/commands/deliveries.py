"""`heartbit deliveries`."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli import options, remote_options


class State(StrEnum):
    """Status of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


RUN = typer.Option(
    "", "--run", metavar="RUN", help="Show deliveries of this run: its id, or how it begins."
)
STATUS = typer.Option(None, "--status", help="In this state.", show_default=False)
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="List at most N.")


def deliveries(
    *,
    run: str = RUN,
    status: State | None = STATUS,
    last: int = LAST,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show where results went, and what is wrong with them."""
    from heartbit_site.cli import activity_report as report

    raise typer.Exit(report.deliveries(url, run, status, last, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(deliveries)
