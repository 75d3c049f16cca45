"""`heartbit fleet`: workers and queues; stop and restart; pauses, and the stop of everything."""

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
QUEUE = typer.Argument(metavar="QUEUE", help="As `heartbit fleet` shows it.")
WORKSPACE = typer.Argument(None, metavar="[WORKSPACE]", help="Its short name; none: everything.")
TOOL = typer.Argument(metavar="TOOL", help="As `heartbit tools` lists it.")
PLACE = typer.Option(
    "", "--workspace", metavar="WORKSPACE", help="Only in this one (its short name), not in all."
)
REASON = typer.Option("", "--reason", metavar="TEXT", help="For whoever wonders.")

fleet = typer.Typer(
    name="fleet", rich_markup_mode=None, help="Show and steer the workers and queues."
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

    A supervisor that restarts whatever ends (docker-compose.yml, Kubernetes, systemd with
    Restart=always) starts the worker again: stop it there. `heartbit up` and the units in
    deploy/systemd leave it stopped.
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


@fleet.command()
def pause(
    queue: str = QUEUE,
    *,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Start nothing more from a queue; what is at work goes on."""
    report = load("fleet_report")
    raise typer.Exit(report.hold(operation(url), "queue", queue, reason=reason, as_json=as_json))


@fleet.command()
def resume(
    queue: str = QUEUE, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Let a paused queue go on."""
    report = load("fleet_report")
    raise typer.Exit(report.free(operation(url), "queue", queue, as_json=as_json))


@fleet.command()
def halt(
    workspace: str | None = WORKSPACE,
    *,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Stop everything, or one workspace: no run starts, what is at work is handed back.

    Nothing is lost; `heartbit fleet continue` lets it go on.
    """
    what, name = ("workspace", workspace) if workspace else ("all", "")
    report = load("fleet_report")
    raise typer.Exit(report.hold(operation(url), what, name, reason=reason, as_json=as_json))


@fleet.command(name="continue")
def go_on(
    workspace: str | None = WORKSPACE,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """End the stop of everything, or of one workspace."""
    what, name = ("workspace", workspace) if workspace else ("all", "")
    report = load("fleet_report")
    raise typer.Exit(report.free(operation(url), what, name, as_json=as_json))


@fleet.command(name="stop-tool")
def stop_tool(
    tool: str = TOOL,
    *,
    place: str = PLACE,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Stop a tool, everywhere or in one workspace: no call of it is run.

    Models are told so, and runs go on without it; `heartbit fleet start-tool` ends that.
    """
    found = operation(url)
    report = load("fleet_report")
    raise typer.Exit(report.hold(found, "tool", tool, reason=reason, place=place, as_json=as_json))


@fleet.command(name="start-tool")
def start_tool(
    tool: str = TOOL,
    *,
    place: str = PLACE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """End a tool's stop: that of everywhere, or that of one workspace."""
    found = operation(url)
    raise typer.Exit(load("fleet_report").free(found, "tool", tool, place=place, as_json=as_json))
