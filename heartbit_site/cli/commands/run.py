"""`heartbit run`, and `heartbit "<task>"` for short."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer reads the annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.startup import ensure_ready
from heartbit_site.config.locate import find

TASK = typer.Argument(None, help="Task of the agent.", show_default=False)
AGENT = typer.Option(
    "", "--agent", "-a", metavar="NAME", help="Let this agent do it; else the orchestrator."
)
REQUIRE_APPROVAL = typer.Option(
    options.OFF, "--require-approval", "--approve", help="Require approval of every tool call."
)
CONFIG = typer.Option(
    None,
    "--config",
    "-C",
    metavar="FILE",
    help="Whose agents; else HEARTBIT_CONFIG, or heartbit.toml here.",
)
PAYLOAD = typer.Option(
    "", "--payload", metavar="FILE|JSON", help="The task as action, spec, inputs, constraints."
)


def run(
    task: str | None = TASK,
    *,
    agent: str = AGENT,
    model: str = options.MODEL,
    approve: bool = REQUIRE_APPROVAL,
    config: Path | None = CONFIG,
    payload: str = PAYLOAD,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Do a task here and now, in this process, and print the answer.

    On a terminal, calls that wait for approval are asked about; elsewhere `heartbit approve`
    decides them. Ctrl-C cancels the run; a second Ctrl-C leaves at once. SIGTERM, or a terminal
    that is closed, leaves a run that `heartbit resume` continues.
    """
    if task is None and not payload:
        raise CommandError(
            "Missing argument TASK: say what the agent should do. See `heartbit run --help`.", USAGE
        )
    if task is not None and not payload:
        options.not_empty(task)
    file = find(config)
    # A file may name another model than the default: which, is known once it has been read.
    ensure_ready("heartbit_site.cli.standalone", model=model if model or file is None else None)
    from heartbit_site.cli import standalone
    from heartbit_site.cli.payload_option import payload_of

    request = standalone.Request(
        task=task or "",
        agent=agent,
        model=model,
        payload=payload_of(payload),
        file=file,
        approve=approve,
    )
    raise typer.Exit(standalone.run(request, as_json=as_json, plain=plain))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(run)
