"""`heartbit up`: everything in one terminal."""

from __future__ import annotations

import os
import socket

import typer

from heartbit_site.base import variables
from heartbit_site.cli.address import reachable_host
from heartbit_site.cli.errors import CANNOT_START, CommandError
from heartbit_site.cli.startup import ensure_ready

PORT = typer.Option(8000, "--port", min=1, max=65535, help="Serve the web pages on this port.")
BIND = typer.Option("127.0.0.1", "--bind", metavar="ADDRESS", help="On which address.")
CONCURRENCY = typer.Option(100, "--concurrency", "-c", min=1, help="Runs the worker holds at once.")


def up(*, port: int = PORT, bind: str = BIND, concurrency: int = CONCURRENCY) -> None:
    """Start everything here: worker, beat, web and services.

    Database and Valkey are the embedded ones unless DATABASE_URL and REDIS_URL name others. Links
    in mails lead to --port unless HEARTBIT_PUBLIC_URL says otherwise. One Ctrl-C ends all of it
    in order.
    """
    check_port(bind, port)
    if not os.environ.get(variables.PUBLIC_URL.name, "").strip():
        os.environ[variables.PUBLIC_URL.name] = address(bind, port)  # of all its children as well
    admin = ensure_ready()
    from heartbit_site.cli import all_in_one

    raise typer.Exit(all_in_one.up(port=port, bind=bind, concurrency=concurrency, admin=admin))


def address(bind: str, port: int) -> str:
    """Return where a browser on this machine finds a page that listens there."""
    host = reachable_host(bind)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_port(bind: str, port: int, options: str = "--port or --bind") -> None:
    """Refuse an address that the web process could not listen on, before anything starts.

    Raises:
        CommandError: It is taken, forbidden, or not of this machine.
    """
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {bind} port {port} ({error.strerror or error}): choose another with "
            f"{options}, or end what uses it.",
            CANNOT_START,
        ) from error


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(up)
