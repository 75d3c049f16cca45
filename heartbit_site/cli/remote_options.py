"""Options of the commands that can talk to a server."""

from __future__ import annotations

from typing import Any, Final

import typer

URL: Final[Any] = typer.Option(
    None,
    "--url",
    metavar="URL",
    help="Talk to this server ('': none); else HEARTBIT_URL, or [server] url of HEARTBIT_CONFIG.",
    show_default=False,
)
