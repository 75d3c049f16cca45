"""`heartbit agents`: the list, and one of them."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

NAME = typer.Argument(metavar="NAME", help="The agent's name.")

agents = typer.Typer(
    name="agents", rich_markup_mode=None, help="Show the agents, what they do and have done."
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
