"""Options that several commands share."""

from __future__ import annotations

from typing import Any, Final, Literal

import typer

from agents.errors import EmptyTaskError


def not_empty(task: str) -> str:
    """Return a task that is not blank.

    Raises:
        EmptyTaskError: It is blank.
    """
    if not task.strip():
        raise EmptyTaskError("The task is empty: say what the agent should do.")
    return task


LogLevel = Literal["debug", "info", "warning", "error"]

OFF: Final = False  # what a flag is that nobody named
TASK: Final[Any] = typer.Argument(help="Task of the agent.", callback=not_empty)
RUN: Final[Any] = typer.Argument(help="The run's id, or how it begins.")
AGENT: Final[Any] = typer.Option(
    "orchestrator", "--agent", "-a", metavar="NAME", help="Let this agent do it."
)
MODEL: Final[Any] = typer.Option(
    "",
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help="For this run and its sub-agents, such as openai:gpt-6-sol.",
    show_default=False,
)
JSON: Final[Any] = typer.Option(OFF, "--json", help="Print JSON for machines.")
PLAIN: Final[Any] = typer.Option(OFF, "--plain", help="Plain lines instead of a live tree.")
YES: Final[Any] = typer.Option(OFF, "--yes", "-y", help="Do not ask for confirmation.")
WATCH: Final[Any] = typer.Option(OFF, "--watch", "-w", help="Follow it until it has ended.")
LOG_LEVEL: Final[Any] = typer.Option("info", "--loglevel", "-l", help="Log from this level on.")
