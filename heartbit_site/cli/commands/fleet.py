"""`heartbit fleet`: workers and queues; stop and restart; pauses, and the stop of everything."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.default_command import FirstByDefault

WORKER = typer.Argument(
    None,
    metavar="[WORKER]",
    help="The worker's id, host:pid or pid, as `heartbit fleet` shows; none: all.",
)
PATIENCE = typer.Option(
    120.0, "--timeout", metavar="SECONDS", min=1, help="Wait this long for each worker."
)
QUEUE = typer.Argument(metavar="QUEUE", help="As `heartbit fleet` shows it.")
WORKSPACE = typer.Argument(
    None, metavar="[WORKSPACE]", help="The workspace's short name; none: everything."
)
TOOL = typer.Argument(metavar="TOOL", help="As `heartbit tools` lists it.")
PLACE = typer.Option(
    None, "--workspace", metavar="WORKSPACE", help="Only in this one (its short name), not in all."
)
REASON = typer.Option(
    "",
    "--reason",
    metavar="TEXT",
    help="Give a reason, shown in the fleet view and stored in the audit.",
)

fleet = typer.Typer(
    name="fleet",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show and steer the workers and queues.",
)


@fleet.command()
def status(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """Show the workers, the queues, and what is wrong with them."""
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.show(url, as_json=as_json))


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
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.act(url, "stop", worker, patience=patience, as_json=as_json))


@fleet.command()
def restart(
    worker: str | None = WORKER,
    *,
    patience: float = PATIENCE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Restart one worker, or all one after the other, as after an upgrade.

    Each requeues its runs and starts itself again, with the code that is installed then.
    """
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.act(url, "restart", worker, patience=patience, as_json=as_json))


@fleet.command()
def pause_queue(
    queue: str = QUEUE,
    *,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Pause a queue: no run starts from it; running ones continue."""
    from heartbit_site.cli import fleet_report as report

    what = report.of_queue(queue)
    raise typer.Exit(report.hold(url, what, reason=reason, as_json=as_json))


@fleet.command()
def resume_queue(
    queue: str = QUEUE, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Resume a paused queue."""
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.free(url, report.of_queue(queue), as_json=as_json))


@fleet.command()
def halt(
    workspace: str | None = WORKSPACE,
    *,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Halt everything, or one workspace: no run starts, running ones are requeued.

    Nothing is lost; `heartbit fleet resume` ends the halt.
    """
    from heartbit_site.cli import fleet_report as report

    what = report.of_workspace(workspace)
    raise typer.Exit(report.hold(url, what, reason=reason, as_json=as_json))


@fleet.command()
def resume(
    workspace: str | None = WORKSPACE,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """End the halt of everything, or of one workspace."""
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.free(url, report.of_workspace(workspace), as_json=as_json))


@fleet.command()
def disable_tool(
    tool: str = TOOL,
    *,
    place: str | None = PLACE,
    reason: str = REASON,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Disable a tool, everywhere or in one workspace: its calls are refused.

    Models read why, and runs continue without it; `heartbit fleet enable-tool` ends that.
    """
    from heartbit_site.cli import fleet_report as report

    what = report.of_tool(tool, place)
    raise typer.Exit(report.hold(url, what, reason=reason, as_json=as_json))


@fleet.command()
def enable_tool(
    tool: str = TOOL,
    *,
    place: str | None = PLACE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Enable a disabled tool, everywhere or in one workspace."""
    from heartbit_site.cli import fleet_report as report

    raise typer.Exit(report.free(url, report.of_tool(tool, place), as_json=as_json))


app = fleet
