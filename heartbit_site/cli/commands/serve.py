"""`heartbit serve`: a worker."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli.address import parse_address
from heartbit_site.cli.commands.up import check_port
from heartbit_site.cli.startup import ensure_ready


class LogLevel(StrEnum):
    """Log level of a worker."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


CONCURRENCY = typer.Option(100, "--concurrency", "-c", min=1, help="Runs it holds at once.")
QUEUES = typer.Option(
    "agents,system",
    "--queues",
    "-Q",
    metavar="A,B",
    help="Consume these queues, separated by commas.",
)
LOG_LEVEL = typer.Option(LogLevel.INFO, "--loglevel", "-l", help="Log from this level on.")
BIND = typer.Option(
    "",
    "--bind",
    metavar="HOST:PORT",
    help="Answer health checks there: /live and /ready.",
    show_default=False,
)


def serve(
    *,
    concurrency: int = CONCURRENCY,
    queues: str = QUEUES,
    loglevel: LogLevel = LOG_LEVEL,
    bind: str = BIND,
) -> None:
    """Start a worker, which executes what was submitted.

    On Ctrl-C or SIGTERM it hands its runs back and exits. Tool calls with effects that are under
    way get HEARTBIT_DRAIN_SECONDS (25) to finish first.
    """
    health = parse_address(bind) if bind else None
    if health is not None:
        check_port(*health, options="--bind")
    ensure_ready("heartbit_site.cli.worker")
    from heartbit_site.cli import worker

    code = worker.serve(
        concurrency=concurrency, queues=queues, loglevel=loglevel.value, health=health
    )
    raise typer.Exit(code)


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(serve)
