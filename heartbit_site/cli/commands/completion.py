"""`heartbit completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import importlib
import os
import sys
from enum import StrEnum
from typing import Final

import typer

VARIABLE: Final = "_HEARTBIT_COMPLETE"  # where the shell says what it wants to be completed


class Shell(StrEnum):
    """The shells it is made for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def prepare() -> None:
    """Let Typer answer a shell, if it is one that runs this process."""
    if VARIABLE in os.environ:
        importlib.import_module("typer.completion").completion_init()


SHELL = typer.Argument(metavar="bash|zsh|fish", help="The shell.")


def completion(shell: Shell = SHELL) -> None:
    """Print a script that completes commands in a shell.

    bash: source <(heartbit completion bash), in ~/.bashrc to keep it. fish: heartbit completion
    fish > ~/.config/fish/completions/heartbit.fish. zsh: as bash, after compinit.
    """
    made = importlib.import_module("typer.completion")
    script: str = made.get_completion_script(
        prog_name="heartbit", complete_var=VARIABLE, shell=shell.value
    )
    sys.stdout.write(f"{script}\n")


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(completion)
