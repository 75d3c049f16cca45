"""`heartbit agents`: the list, one of them, and starting and stopping them."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.default_command import FirstByDefault

NAME = typer.Argument(metavar="NAME", help="The agent's name.")
ANY = typer.Argument(None, metavar="[NAME]", help="The agent's name; none: all.")
NUMBER = typer.Argument(metavar="NUMBER", min=1, help="The version that comes back.")
FROM = typer.Argument(
    None, metavar="[FROM]", min=1, help="A version's number; none: the one before TO."
)
TO = typer.Argument(None, metavar="[TO]", min=1, help="Another; none: the current one.")
FORCE = typer.Option(
    options.OFF,
    "--force",
    help="Roll back even if tools or team have changed: with today's, as a new version.",
)

agents = typer.Typer(
    name="agents",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show the agents; start, stop and restart them.",
)


@agents.command(name="list")
def list_(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """List the agents with their state and figures."""
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.list_agents(url, as_json=as_json))


@agents.command()
def show(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Show an agent: its definition, versions and figures."""
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.show_agent(url, name, as_json=as_json))


@agents.command()
def versions(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """List what was published of an agent, the newest first."""
    from heartbit_site.cli import versions_report as report

    raise typer.Exit(report.list_all(url, name, as_json=as_json))


@agents.command()
def diff(
    name: str = NAME,
    older: int | None = FROM,
    newer: int | None = TO,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show what changed between two versions of an agent."""
    from heartbit_site.cli import versions_report as report

    raise typer.Exit(report.compare(url, name, older, newer, as_json=as_json))


@agents.command()
def rollback(
    name: str = NAME,
    number: int = NUMBER,
    *,
    force: bool = FORCE,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Bring an agent back to an earlier version; its runs stay as they are."""
    from heartbit_site.cli import versions_report as report

    raise typer.Exit(report.roll_back(url, name, number, force=force, as_json=as_json))


@agents.command()
def status(
    name: str | None = ANY,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show what an agent is doing: its runs, queue, uptime and tools."""
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.status(url, name, as_json=as_json))


@agents.command()
def start(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Let a stopped agent take runs again; its runs resume."""
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.start(url, name, as_json=as_json))


@agents.command()
def stop(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Stop an agent: it takes no runs, and running ones are requeued.

    Nothing is lost: queued and waiting runs stay, and go on when it is started.
    """
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.stop(url, name, as_json=as_json))


@agents.command()
def restart(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Requeue an agent's running runs, so that they are claimed again; start a stopped one."""
    from heartbit_site.cli import agents_report as report

    raise typer.Exit(report.restart(url, name, as_json=as_json))
