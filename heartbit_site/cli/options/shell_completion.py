"""Answers to a shell that completes a command line. No Django."""

from __future__ import annotations

import importlib
import os
from typing import Final

VARIABLE: Final = "_HEARTBIT_COMPLETE"  # where the shell says what it wants to be completed


def prepare() -> None:
    """Let Typer answer a shell, if it is one that runs this process."""
    if VARIABLE in os.environ:
        importlib.import_module("typer.completion").completion_init()
