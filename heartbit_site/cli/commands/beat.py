"""`heartbit beat`: the clock that starts periodic tasks."""

from __future__ import annotations

import typer

from heartbit_site.cli.commands.serve import LogLevel
from heartbit_site.cli.startup import ensure_ready

LOG_LEVEL = typer.Option(LogLevel.INFO, "--loglevel", "-l", help="Log from this level on.")


def beat(*, loglevel: LogLevel = LOG_LEVEL) -> None:
    """Send periodic tasks to the workers when they are due.

    They start people's schedules, deliver results and webhooks, read mailboxes and delete what is
    past its retention. One beat an installation is enough.
    """
    ensure_ready()
    from heartbit_site.cli import beat as process

    process.beat(loglevel=loglevel.value)


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(beat)
