"""One word where a command is expected: a mistyped command more likely than a task for a model."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Container, Sequence

import typer
from typer.core import TyperCommand

from heartbit_site.cli.terminal import keyboard
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.margin import visible


def is_meant(commands: Container[str], run: TyperCommand, arguments: Sequence[str]) -> bool:
    """Return True unless the task of `heartbit ARGUMENTS` is one word, and the person says no.

    Args:
        commands: The names of all commands.
        run: The command `heartbit run`.
        arguments: The command line, which does not begin with a command.

    Raises:
        CommandError: It is one word, and a command or there is no terminal to ask at.
    """
    word = _task(run, arguments).strip()
    if not word or len(word.split()) > 1:
        return True
    shown = visible(word)
    if word in commands:
        raise UsageError(
            f"Options come after the command: `heartbit {word} ...`; as a task it is "
            f"`heartbit run {word}`."
        )
    if not keyboard.is_interactive():
        raise UsageError(
            f"There is no command {shown!r}: `heartbit --help` lists them; as a task it is "
            f"`heartbit run {shlex.quote(shown)}`."
        )
    question = f"There is no command {shown!r}. Run it as a task of an agent? [y/N] > "
    answer = asyncio.run(keyboard.line(question))
    return (answer or "").strip().lower() in ("y", "yes")


def _task(run: TyperCommand, arguments: Sequence[str]) -> str:
    """Return the task of `heartbit run ARGUMENTS`; empty without one, or a usage error."""
    try:
        context = run.make_context("run", [*arguments], resilient_parsing=True)
    except typer.TyperException:
        return ""  # `run` itself says what is wrong
    # Several words without quotes are a usage error as well.
    return "" if context.args else str(context.params.get("task") or "")
