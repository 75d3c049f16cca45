"""`heartbit tools`: the list, and one of them."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.default_command import FirstByDefault

NAME = typer.Argument(metavar="NAME", help="The tool's name.")

tools = typer.Typer(
    name="tools",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show the tools that agents can be given.",
)


@tools.command(name="list")
def list_(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """List the tools with their effects."""
    from heartbit_site.cli import tools_report as report

    raise typer.Exit(report.list_tools(url, as_json=as_json))


@tools.command()
def show(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Show a tool with its schema."""
    from heartbit_site.cli import tools_report as report

    raise typer.Exit(report.show_tool(url, name, as_json=as_json))


app = tools
