"""`heartbit agents`: the list, one of them, and starting and stopping them."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load
from heartbit_site.cli.output import note, write, write_json
from heartbit_site.cli.past import past

NAME = typer.Argument(metavar="NAME", help="The agent's name.")
ANY = typer.Argument(None, metavar="[NAME]", help="The agent's name; none: all.")
NUMBER = typer.Argument(metavar="NUMBER", min=1, help="The version that comes back.")
FROM = typer.Argument(
    None, metavar="[FROM]", min=1, help="A version's number; none: the one before TO."
)
TO = typer.Argument(None, metavar="[TO]", min=1, help="Another; none: the current one.")
ANYWAY = typer.Option(
    options.OFF,
    "--anyway",
    help="Also when its tools or team have changed: with today's, as a new version.",
)

agents = typer.Typer(
    name="agents", rich_markup_mode=None, help="Show the agents; start, stop and restart them."
)


def _list(*, as_json: bool) -> None:
    begin("heartbit_site.cli.agents_report")
    raise typer.Exit(load("agents_report").list_agents(as_json=as_json))


@agents.callback(invoke_without_command=True)
def of_agents(context: typer.Context, *, as_json: bool = options.JSON) -> None:
    """List them when nothing else is asked for."""
    if context.invoked_subcommand is None:
        _list(as_json=as_json)


@agents.command(name="list")
def list_(*, as_json: bool = options.JSON) -> None:
    """List the agents with their state and figures."""
    _list(as_json=as_json)


@agents.command()
def show(name: str = NAME, *, as_json: bool = options.JSON) -> None:
    """Show an agent: its definition, versions and figures."""
    begin("heartbit_site.cli.agents_report")
    raise typer.Exit(load("agents_report").show_agent(name, as_json=as_json))


@agents.command()
def versions(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """List what was published of an agent, the newest first."""
    found = past(url).versions(name)
    if as_json:
        write_json(found)
    else:
        load("version_text").print_versions(found)


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
    found = past(url).diff(name, older, newer)
    if as_json:
        write_json(found)
    else:
        load("version_text").print_diff(found)


@agents.command()
def rollback(
    name: str = NAME,
    number: int = NUMBER,
    *,
    anyway: bool = ANYWAY,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Bring an agent back to an earlier version; its runs stay as they are."""
    done = past(url).rollback(name, number, anyway=anyway)
    if as_json:
        write_json(done)
        return
    write(f"{done['agent']} is v{done['version']} now: its next runs use it.")
    if done["differs"]:
        note(f"Not as in v{done['wanted']}: {done['differs']}.")


@agents.command()
def status(
    name: str | None = ANY,
    *,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show what an agent is doing: its runs, queue, uptime and tools."""
    from heartbit_site.cli import agent_report as report

    raise typer.Exit(report.status(url, name, as_json=as_json))


@agents.command()
def start(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Let a stopped agent take runs again; what it had goes on."""
    from heartbit_site.cli import agent_report as report

    raise typer.Exit(report.start(url, name, as_json=as_json))


@agents.command()
def stop(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Stop an agent: it takes no runs, and what is at work is handed back.

    Nothing is lost: queued and waiting runs stay, and go on when it is started.
    """
    from heartbit_site.cli import agent_report as report

    raise typer.Exit(report.stop(url, name, as_json=as_json))


@agents.command()
def restart(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Hand over what an agent has at work, to be taken up anew; a stopped one is started."""
    from heartbit_site.cli import agent_report as report

    raise typer.Exit(report.restart(url, name, as_json=as_json))
