"""Options that several commands share."""

from __future__ import annotations

from typing import Any, Final, Literal

import typer

from agents.errors import EmptyTaskError
from heartbit_site.base import variables
from heartbit_site.base.queues import DEFAULT
from heartbit_site.cli.terminal.errors import UsageError


def check_task(task: str | None, payload: str, command: str) -> str:
    """Return the task; empty if there is a payload instead.

    Raises:
        CommandError: There is neither.
        EmptyTaskError: The task is blank.
    """
    if not payload:
        if task is None:
            raise UsageError(
                "Missing argument 'TASK': say what the agent should do. "
                f"See `heartbit {command} --help`."
            )
        if not task.strip():
            raise EmptyTaskError("The task is empty: say what the agent should do.")
    return task or ""


LogLevel = Literal["debug", "info", "warning", "error"]

OFF: Final = False  # what a flag is that nobody named
TASK: Final[Any] = typer.Argument(None, metavar="TASK", help="Task of the agent.")
PAYLOAD: Final[Any] = typer.Option(
    "", metavar="FILE|JSON", help="The task as action, spec, inputs, constraints."
)
FILES: Final[Any] = typer.Option(
    None, "--file", "-f", metavar="PATH", help="Put a file or a folder into the run's folder."
)
ARCHIVES: Final[Any] = typer.Option(
    None, "--archive", metavar="PATH", help="Unpack a zip, tar or tar.gz into the run's folder."
)
REQUIRE_APPROVAL: Final[Any] = typer.Option(
    OFF, "--require-approval", "--approve", help="Require approval of every tool call."
)
RUN: Final[Any] = typer.Argument(metavar="RUN", help="The run's id, or how it begins.")
ANY_RUN: Final[Any] = typer.Argument(
    None, metavar="RUN", help="The run's id, or how it begins; none: all runs."
)
TASK_AGENT: Final[Any] = typer.Option(
    "", "--agent", "-a", metavar="NAME", help="Let this agent do it; else the orchestrator."
)
MODEL: Final[Any] = typer.Option(
    "",
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help="For this run and its sub-agents, such as openai:gpt-6-sol.",
)
LAST: Final[Any] = typer.Option(20, "--last", "-n", min=1, max=1000, help="List at most N.")
PLAIN: Final[Any] = typer.Option(OFF, "--plain", help="Plain lines instead of a live tree.")
YES: Final[Any] = typer.Option(OFF, "--yes", "-y", help="Do not ask for confirmation.")
WATCH: Final[Any] = typer.Option(OFF, "--watch", "-w", help="Follow it until it has ended.")
QUEUES: Final[Any] = typer.Option(
    ",".join(DEFAULT),
    "--queues",
    "-Q",
    metavar="A,B",
    help="Consume these queues, separated by commas.",
)
LOG_LEVEL: Final[Any] = typer.Option(
    lambda: variables.LOG.read() or "info",
    "--loglevel",
    "-l",
    show_default=False,
    help="Log from this level on; else HEARTBIT_LOG, or info.",
)
