"""`heartbit completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Final, Literal

import typer

from heartbit_site.cli.errors import OK

VARIABLE: Final = "_HEARTBIT_COMPLETE"  # where the shell says what it wants to be completed
Shell = Literal["bash", "zsh", "fish"]
SHELL = typer.Argument(metavar="SHELL", help="bash, zsh or fish.")


def prepare() -> None:
    """Let Typer answer a shell, if it is one that runs this process."""
    if VARIABLE in os.environ:
        importlib.import_module("typer.completion").completion_init()


def completion(shell: Shell = SHELL) -> int:
    """Print a script that completes commands in a shell.

    bash: source <(heartbit completion bash), in ~/.bashrc to keep it. fish: heartbit completion
    fish > ~/.config/fish/completions/heartbit.fish. zsh: as bash, after compinit.
    """
    made = importlib.import_module("typer.completion")
    script: str = made.get_completion_script(
        prog_name="heartbit", complete_var=VARIABLE, shell=shell
    )
    sys.stdout.write(f"{script}\n")
    return OK
