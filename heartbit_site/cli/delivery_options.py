"""Options that name where results are delivered. No Django."""

from __future__ import annotations

from typing import Any, Final

import typer

EMAIL: Final[Any] = typer.Option(
    [],
    "--deliver-email",
    metavar="ADDRESS",
    help="Mail each result to this address; may be repeated.",
    show_default=False,
)
WEBHOOK: Final[Any] = typer.Option(
    [],
    "--deliver-webhook",
    metavar="WEBHOOK",
    help="Send each result to this webhook (its name or number); may be repeated.",
    show_default=False,
)
ARTIFACT: Final[Any] = typer.Option(
    [],
    "--deliver-artifact",
    metavar="NAME",
    help="Keep each result as this artifact of its run; may be repeated.",
    show_default=False,
)
