"""`heartbit submit`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

PRIORITY = typer.Option(
    0, "--priority", "-p", min=-1000, max=1000, help="Higher goes first in its queue."
)
KEY = typer.Option(
    None,
    "--idempotency-key",
    metavar="KEY",
    help="The same key gives the same run, however often it is submitted.",
)


def submit(
    task: str = options.TASK,
    *,
    agent: str = options.AGENT,
    model: str = options.MODEL,
    priority: int = PRIORITY,
    idempotency_key: str | None = KEY,
    watch: bool = options.WATCH,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Give a task to the workers and print the run's id.

    With --watch the run is shown and its answer printed; Ctrl-C leaves it, and it goes on.
    """
    begin("heartbit_site.cli.fleet")
    code = load("fleet").submit(
        task,
        agent=agent,
        model=model,
        priority=priority,
        idempotency_key=idempotency_key,
        follow=watch,
        as_json=as_json,
        plain=plain,
    )
    raise typer.Exit(code)
