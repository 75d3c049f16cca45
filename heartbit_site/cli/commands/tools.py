"""`heartbit tools`: the list, and one of them."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.startup import set_up_django
from heartbit_site.environment import read

NAME = typer.Argument(metavar="NAME", help="The tool's name.")

tools = typer.Typer(
    name="tools", rich_markup_mode=None, help="Show the tools that agents can be given."
)


def _list(*, as_json: bool) -> None:
    set_up_django(read())  # the tools are in the code: no service is needed
    from heartbit_site.cli import tools_report as report

    raise typer.Exit(report.list_tools(as_json=as_json))


@tools.callback(invoke_without_command=True)
def of_tools(context: typer.Context, *, as_json: bool = options.JSON) -> None:
    """List them when nothing else is asked for."""
    if context.invoked_subcommand is None:
        _list(as_json=as_json)


@tools.command(name="list")
def list_(*, as_json: bool = options.JSON) -> None:
    """List the tools with their effects."""
    _list(as_json=as_json)


@tools.command()
def show(name: str = NAME, *, as_json: bool = options.JSON) -> None:
    """Show a tool with its schema."""
    set_up_django(read())
    from heartbit_site.cli import tools_report as report

    raise typer.Exit(report.show_tool(name, as_json=as_json))
