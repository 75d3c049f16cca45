"""`heartbit runs`: the list, and one of them with everything that is known."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load


class Status(StrEnum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"


AGENT = typer.Option("", "--agent", "-a", metavar="NAME", help="Only this agent's.")
STATUS = typer.Option(None, "--status", "-s", help="Only those in this state.")
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="How many.")

runs = typer.Typer(name="runs", rich_markup_mode=None, help="Show what was run.")


def _list(agent: str, status: Status | None, last: int, *, as_json: bool) -> None:
    begin("heartbit_site.cli.reports")
    code = load("reports").list_runs(
        last, agent=agent, status=status.value if status else "", as_json=as_json
    )
    raise typer.Exit(code)


@runs.callback(invoke_without_command=True)
def of_runs(
    context: typer.Context,
    *,
    agent: str = AGENT,
    status: Status | None = STATUS,
    last: int = LAST,
    as_json: bool = options.JSON,
) -> None:
    """List the last ones when nothing else is asked for."""
    if context.invoked_subcommand is None:
        _list(agent, status, last, as_json=as_json)


@runs.command(name="list")
def list_(
    *,
    agent: str = AGENT,
    status: Status | None = STATUS,
    last: int = LAST,
    as_json: bool = options.JSON,
) -> None:
    """List the last runs, the newest first."""
    _list(agent, status, last, as_json=as_json)


@runs.command()
def show(run: str = options.RUN, *, as_json: bool = options.JSON) -> None:
    """Show a run: its tree, calls, decisions, cost and result."""
    begin("heartbit_site.cli.run_report")
    raise typer.Exit(load("run_report").show_run(run, as_json=as_json))
