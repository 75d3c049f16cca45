"""`heartbit web`: the web process."""

from __future__ import annotations

import typer

from heartbit_site.cli.commands.serve import LogLevel
from heartbit_site.cli.commands.up import check_port
from heartbit_site.cli.startup import ensure_ready

PORT = typer.Option(
    8000, "--port", min=0, max=65535, help="Listen on this port; 0: any free one, which is logged."
)
BIND = typer.Option("127.0.0.1", "--bind", metavar="ADDRESS", help="Listen on this address.")
GRACE = typer.Option(
    8, "--grace", min=0, metavar="SECONDS", help="Wait for open requests so long at the end."
)
LOG_LEVEL = typer.Option(LogLevel.INFO, "--loglevel", "-l", help="Log from this level on.")


def web(
    *,
    port: int = PORT,
    bind: str = BIND,
    grace: int = GRACE,
    loglevel: LogLevel = LOG_LEVEL,
) -> None:
    """Serve the web pages, the admin and the API.

    It starts neither workers nor beat: see `heartbit serve` and `heartbit beat`, or `heartbit up`
    for everything at once.
    """
    check_port(bind, port)
    ensure_ready()
    from heartbit_site.cli import web as process

    process.serve(bind=bind, port=port, grace_seconds=grace, loglevel=loglevel.value)


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(web)
