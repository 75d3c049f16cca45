"""`heartbit submit`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer reads the annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.errors import USAGE, CommandError

TASK = typer.Argument(None, help="Task of the agent.", show_default=False)
AGENT = typer.Option(
    "",
    "--agent",
    "-a",
    metavar="NAME",
    help="Let this agent do it; else the orchestrator.",
    show_default=False,
)
PRIORITY = typer.Option(
    0, "--priority", "-p", min=-1000, max=1000, help="Higher goes first in its workspace."
)
KEY = typer.Option(
    None,
    "--idempotency-key",
    metavar="KEY",
    help="Start one run for this key, even if it is submitted again.",
)
REQUIRE_APPROVAL = typer.Option(
    options.OFF, "--require-approval", "--approve", help="Require approval of every tool call."
)
PAYLOAD = typer.Option(
    "",
    "--payload",
    metavar="FILE|JSON",
    help="The task as action, spec, inputs, constraints.",
    show_default=False,
)
CONFIG = typer.Option(
    None,
    "--config",
    "-C",
    metavar="FILE",
    help="The agents of this file instead of the installation's.",
)


def submit(
    task: str | None = TASK,
    *,
    agent: str = AGENT,
    model: str = options.MODEL,
    priority: int = PRIORITY,
    idempotency_key: str | None = KEY,
    approve: bool = REQUIRE_APPROVAL,
    payload: str = PAYLOAD,
    config: Path | None = CONFIG,
    url: str | None = remote_options.URL,
    watch: bool = options.WATCH,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Give a task to the workers and print the run's id.

    With --watch the run is shown and its answer printed; Ctrl-C leaves it, and it continues.
    """
    if task is None and not payload:
        raise CommandError(
            "Missing argument TASK: say what the agent should do. See `heartbit submit --help`.",
            USAGE,
        )
    if task is not None and not payload:
        options.not_empty(task)
    from heartbit_site.cli import submission

    order = submission.SubmitOptions(
        task=task or "",
        agent=agent,
        model=model,
        priority=priority,
        idempotency_key=idempotency_key,
        payload=payload,
        file=config,
        approve=approve,
    )
    raise typer.Exit(submission.submit(url, order, follow=watch, as_json=as_json, plain=plain))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(submit)
