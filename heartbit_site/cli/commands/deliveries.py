"""`heartbit deliveries`."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.load import load
from heartbit_site.cli.readings import readings_at


class State(StrEnum):
    """How far a delivery has got."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


RUN = typer.Option("", "--run", metavar="RUN", help="Of this run: its id, or how it begins.")
STATUS = typer.Option(None, "--status", help="In this state.", show_default=False)
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="How many to list.")


def deliveries(
    *,
    run: str = RUN,
    status: State | None = STATUS,
    last: int = LAST,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show where results went, and what is wrong with them."""
    state = "" if status is None else status.value
    report = load("readings_report")
    raise typer.Exit(report.deliveries(readings_at(url), run, state, last, as_json=as_json))
