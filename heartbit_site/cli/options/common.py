"""Options that several commands share, and the groups that commands belong to."""

from __future__ import annotations

import re
import sys
from string import hexdigits
from typing import Any, Final, Literal

import typer
from typer.core import TyperGroup

from agents.errors import EmptyTaskError
from heartbit_site.base import variables
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.queues import DEFAULT
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import one_line


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

OFF: Final = False  # a flag that is left out


def option(names: str, text: str, default: Any = "", **more: Any) -> Any:
    """Return an option.

    Args:
        names: Its names, and what stands for its value, such as `--agent -a NAME`; without a name
            it is called as the parameter.
        text: Its help.
        default: Its value if it is left out; `...`: it is required.
        more: Further settings of Typer.
    """
    flags = [word for word in names.split() if word.startswith("-")]
    metavar = " ".join(word for word in names.split() if not word.startswith("-"))
    return typer.Option(default, *flags, metavar=metavar or None, help=text, **more)


def flag(names: str, text: str) -> Any:
    """Return an option without a value, such as `--force -f`."""
    return option(names, text, OFF)


def argument(metavar: str, text: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument, which has to be given unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=text, **more)


TASK: Final[Any] = argument("TASK", "Task of the agent.", None)
PAYLOAD: Final[Any] = option("FILE|JSON", "The task as action, spec, inputs, constraints.")
FILES: Final[Any] = option("--file -f PATH", "Put a file or a folder into the run's folder.", None)
ARCHIVES: Final[Any] = option(
    "--archive PATH", "Unpack a zip, tar or tar.gz into the run's folder.", None
)
IMAGES: Final[Any] = option("--image FILE", "Show the agent a picture, or a PDF's pages.", None)
REQUIRE_APPROVAL: Final[Any] = flag(
    "--require-approval --approve", "Require approval of every tool call."
)
RUN: Final[Any] = argument("RUN", "The run's id, or its first characters.")
ANY_RUN: Final[Any] = argument("RUN", "The run's id, or its beginning; none: all runs.", None)
TASK_AGENT: Final[Any] = option("--agent -a NAME", "Let this agent do it; else the orchestrator.")
MODEL: Final[Any] = option(
    "--model -m PROVIDER:MODEL",
    "Use this model, also for sub-agents, such as openai:gpt-6-sol.",
)
LAST: Final[Any] = option("--last -n", "List at most N.", 20, min=1, max=1000)
PLAIN: Final[Any] = flag("--plain", "Plain lines instead of a live tree.")
YES: Final[Any] = flag("--yes -y", "Do not ask for confirmation.")
WATCH: Final[Any] = flag("--watch -w", "Follow it until it has ended.")
QUEUES: Final[Any] = option(
    "--queues -Q A,B", "Consume these queues, separated by commas.", ",".join(DEFAULT)
)
LOG_LEVEL: Final[Any] = option(
    "--loglevel -l",
    "Log from this level on; else HEARTBIT_LOG, or info.",
    lambda: variables.LOG.read() or "info",
    show_default=False,
)


LONGEST_SUMMARY: Final = 1000  # characters


class WholeSummaries(TyperGroup):
    """A group whose help wraps the summaries of its commands, where Typer cuts them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the first sentence of its help."""
        summaries = [
            (name, self.commands[name].get_short_help_str(LONGEST_SUMMARY))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(summaries)


class FirstByDefault(WholeSummaries):
    """`heartbit runs --last 5` as `heartbit runs list --last 5`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the first command before them unless they name one."""
        named = any(arg in self.commands or arg in ctx.help_option_names for arg in args)
        if not (named or ctx.resilient_parsing) and (not args or args[0].startswith("-")):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def command() -> typer.Typer:
    """Return what one command is registered with."""
    return typer.Typer(cls=WholeSummaries, rich_markup_mode=None, add_completion=False)


def group() -> typer.Typer:
    """Return what the commands of a group are registered with; the first is the default."""
    made = typer.Typer(cls=FirstByDefault, rich_markup_mode=None, add_completion=False)
    made.callback()(_nothing)
    return made


def group_without_default() -> typer.Typer:
    """Return what the commands of a group are registered with, which shows its help by default."""
    made = command()
    made.callback(invoke_without_command=True)(_show_help)
    return made


def _nothing() -> None:
    """Do nothing: a group with a single command stays a group."""


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


QUEUE_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]*")


def parse_queues(text: str) -> list[str]:
    """Return the queues that ``--queues`` names.

    Raises:
        UsageError: It names none, or one that is no queue's name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not all(map(QUEUE_NAME.fullmatch, names)):
        raise UsageError(
            f"--queues {text!r} names no queue: write names of lower-case letters, digits, . - _ "
            "with commas between them."
        )
    return names


SHORT_ID: Final = 18  # characters of an id: its milliseconds and what distinguishes their runs


def run_id_of(text: str) -> str:
    """Return the id, or its beginning, that a text is.

    Raises:
        NotFoundError: The text is neither.
    """
    found = text.strip().lower()
    if not found or not set(found) <= set(f"{hexdigits}-"):
        raise NotFoundError(
            f"No run begins with {one_line(text, 60)}: `heartbit status` lists the last ones."
        )
    return found
