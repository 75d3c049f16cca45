"""`heartbit completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import importlib
import sys
from typing import Literal

from heartbit_site.cli.options import common
from heartbit_site.cli.options.shell_completion import VARIABLE
from heartbit_site.cli.terminal.errors import OK

Shell = Literal["bash", "zsh", "fish"]
SHELL = common.argument("SHELL", "bash, zsh or fish.")


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
