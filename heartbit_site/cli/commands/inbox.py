"""`heartbit inbox`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options

AGENT = typer.Argument(metavar="AGENT", help="Whose inbox.")
MESSAGE = typer.Argument(
    "", metavar="[MESSAGE]", help="Show all of this message; --json lists the ids."
)
LAST = typer.Option(20, "--last", "-n", min=1, max=1000, help="List at most N.")


def inbox(
    agent: str = AGENT,
    message: str = MESSAGE,
    *,
    last: int = LAST,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Show what an agent was written, the newest first."""
    from heartbit_site.cli import activity_report as report

    if message:
        raise typer.Exit(report.message(url, message, as_json=as_json))
    raise typer.Exit(report.inbox(url, agent, last, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(inbox)
