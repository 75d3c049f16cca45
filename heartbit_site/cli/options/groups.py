"""Commands of commands: `heartbit runs list`."""

from __future__ import annotations

import sys
from typing import Any, Final

import typer
from typer.core import TyperGroup

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
