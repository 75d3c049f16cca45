"""`heartbit runs`: the list, one of them, and what an operator does with them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.commands.forks import fork
from heartbit_site.cli.default_command import FirstByDefault
from heartbit_site.cli.startup import ensure_ready

if TYPE_CHECKING:
    from heartbit_site.cli.runs_report import Settling


class Status(StrEnum):
    """Status of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"


AGENT = typer.Option("", "--agent", "-a", metavar="NAME", help="Only this agent's.")
STATUS = typer.Option(None, "--status", "-s", help="Only those in this state.")
OLDER = typer.Option(
    None, "--older-than", metavar="DAYS", min=0, help="None: as the workspace's policy says."
)
DRY = typer.Option(options.OFF, "--dry-run", help="Only say what would go.")
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="List at most N.")
TURN = typer.Option(
    None, "--turn", "-t", metavar="N", min=1, help="One model call: what was sent and answered."
)

runs = typer.Typer(
    name="runs",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show what was run; fork, settle and archive runs.",
)


@runs.command(name="list")
def list_(
    *,
    agent: str = AGENT,
    status: Status | None = STATUS,
    last: int = LAST,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """List the last runs, the newest first."""
    from heartbit_site.cli import runs_report as report

    state = status.value if status else ""
    raise typer.Exit(report.list_runs(url, last, agent=agent, status=state, as_json=as_json))


runs.command()(fork)


@runs.command()
def show(
    run: str = options.RUN,
    *,
    turn: int | None = TURN,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show a run: its tree, calls, decisions, cost and result; or one turn of it."""
    if turn is not None:
        from heartbit_site.cli import turn_text

        raise typer.Exit(turn_text.show(url, run, turn, as_json=as_json))
    from heartbit_site.cli import run_report as report

    raise typer.Exit(report.show_run(url, run, as_json=as_json))


@runs.command()
def retry(
    run: str = options.RUN,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Do the task of a run that has ended again, as a new run on the same version.

    A quarantined run is discarded with it.
    """
    _settle(run, "retry", url, as_json=as_json)


@runs.command()
def unquarantine(
    run: str = options.RUN,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Resume a quarantined run where it was, in a process of its own."""
    _settle(run, "unquarantine", url, as_json=as_json)


@runs.command()
def discard(
    run: str = options.RUN,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Give a quarantined run up: it is cancelled, and its journal stays."""
    _settle(run, "discard", url, as_json=as_json)


def _settle(run: str, how: Settling, url: str | None, *, as_json: bool) -> None:
    from heartbit_site.cli import runs_report as report

    raise typer.Exit(report.settle(url, run, how, as_json=as_json))


@runs.command()
def archive(*, days: int | None = OLDER, dry_run: bool = DRY, as_json: bool = options.JSON) -> None:
    """Write runs that ended long ago into files, and delete them from the database.

    A worker does so every hour by the workspace's policy.
    """
    ensure_ready("heartbit_site.cli.archive_report")
    from heartbit_site.cli import archive_report as report

    raise typer.Exit(report.archive(days=days, dry_run=dry_run, as_json=as_json))


@runs.command()
def export(run: str = options.RUN) -> None:
    """Write a run with its sub-agents to stdout, one JSON object a run, as an archive holds it."""
    ensure_ready("heartbit_site.cli.archive_report")
    from heartbit_site.cli import archive_report

    raise typer.Exit(archive_report.export(run))


app = runs
