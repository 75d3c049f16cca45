"""Secrets of a request: a person is asked for them, or they are on standard input. No Django."""

from __future__ import annotations

import sys
from typing import Any, Final

import typer

from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.contract.operation import Operation

_LONGEST: Final = 1000


def entry_flags(secret: str, operation: Operation[Any]) -> dict[str, Any]:
    """Return the flags that say where a secret comes from."""
    flag, words = secret.replace("_", "-"), secret.replace("_", " ")
    stdin = common.flag(f"--{flag}-stdin", f"Read the {words} from standard input.")
    if operation.method == "POST":
        return {"from_stdin": stdin}
    return {"from_stdin": stdin, "ask": common.flag(f"--ask-{flag}", f"Ask for the {words}.")}


def enter(
    secret: str, operation: Operation[Any], *, from_stdin: bool, ask: bool = False
) -> str | None:
    """Return a secret from standard input, or from the person at the terminal; None: none is meant.

    Raises:
        UsageError: Standard input has none.
    """
    flag, called = secret.replace("_", "-"), secret.replace("_", " ")
    if from_stdin:
        return first_line(called)
    if ask and not is_interactive():
        raise UsageError(f"There is no terminal to ask at: add --{flag}-stdin.")
    if ask or (operation.method == "POST" and is_interactive()):
        words = f"{called.capitalize()} (empty: none)"
        return str(typer.prompt(words, default="", show_default=False, hide_input=True, err=True))
    return None


def first_line(called: str) -> str:
    """Return the secret that is the first line of standard input.

    Raises:
        UsageError: The line is empty.
    """
    found = sys.stdin.readline(_LONGEST).rstrip("\r\n")
    if not found:
        raise UsageError(f"Standard input holds no {called}: it is the first line.")
    return found
