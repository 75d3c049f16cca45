"""`heartbit fleet`: workers and queues; stop and restart of workers."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.load import load
from heartbit_site.cli.operation import operation

WORKER = typer.Argument(
    None, metavar="[WORKER]", help="Its id, host:pid or pid, as `heartbit fleet` shows; none: all."
)
PATIENCE = typer.Option(
    120.0, "--timeout", metavar="SECONDS", min=1, help="How long to wait for each."
)

fleet = typer.Typer(
    name="fleet", rich_markup_mode=None, help="Show the workers and queues; stop, restart workers."
)


@fleet.callback(invoke_without_command=True)
def of_fleet(
    context: typer.Context, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Show them when nothing else is asked for."""
    if context.invoked_subcommand is None:
        _show(url, as_json=as_json)


def _show(url: str | None, *, as_json: bool) -> None:
    found = operation(url)
    raise typer.Exit(load("fleet_report").show(found, as_json=as_json))


@fleet.command()
def status(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """Show the workers, the queues, and what is wrong with them."""
    _show(url, as_json=as_json)


@fleet.command()
def stop(
    worker: str | None = WORKER,
    *,
    patience: float = PATIENCE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Stop one worker, or all: they hand their runs back and leave.

    A supervisor (systemd, a container's restart policy) may start it again; `heartbit up` does not.
    """
    found = operation(url)
    report = load("fleet_report")
    raise typer.Exit(report.act(found, "stop", worker, patience=patience, as_json=as_json))


@fleet.command()
def restart(
    worker: str | None = WORKER,
    *,
    patience: float = PATIENCE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Restart one worker, or all one after the other, as after an upgrade.

    Each hands its runs back and starts itself anew, with the code that is installed then.
    """
    found = operation(url)
    report = load("fleet_report")
    raise typer.Exit(report.act(found, "restart", worker, patience=patience, as_json=as_json))
