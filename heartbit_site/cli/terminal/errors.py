"""Exit codes of commands, and one sentence for each error that a person can fix.

====  ==========================================================
0     done
1     the run failed, or `doctor` found a problem
2     the command was not understood, names what does not exist, or asks what cannot be done now
      (to cancel or resume a run that has ended)
3     cannot start: configuration (no file, or one with a mistake), database, port, state directory
4     left a run that waits for a person, as there is no terminal to ask at (`resume`)
129   left on SIGHUP: the run can be resumed
130   cancelled (Ctrl-C, or the run was cancelled elsewhere)
143   left on SIGTERM: the run can be resumed
====  ==========================================================
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections import defaultdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base import variables
from heartbit_site.base.database_faults import is_away
from heartbit_site.base.errors import ConfigurationError, HeartbitError, Remedy
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.base.terminal_text import clean
from heartbit_site.cli.terminal.output import note, one_line
from heartbit_site.embedded.errors import EmbeddedError

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CANNOT_START: Final = 3
WAITING: Final = 4
CANCELLED: Final = 130


class CommandError(HeartbitError):
    """A command cannot do what it was asked; it knows its exit code."""

    def __init__(self, message: str, code: int = FAILED, *, remedy: Remedy | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class UsageError(CommandError):
    """The command line is not understood, or names what does not exist."""

    def __init__(self, message: str, *, remedy: Remedy | None = None) -> None:
        super().__init__(message, USAGE, remedy=remedy)


class LostError(CommandError):
    """The stream of a server broke off before the run's end: it can be read again."""


def explain(error: BaseException) -> tuple[int, str] | None:
    """Return the exit code and the sentence for an error; None for a defect of ours."""
    match error:
        case CommandError():
            return error.code, for_terminal(error)
        case ConfigurationError() | EmbeddedError():
            return CANNOT_START, for_terminal(error)
        case HeartbitError():
            return USAGE, for_terminal(error)
        case KeyboardInterrupt():
            return CANCELLED, "Interrupted."
    if is_away(error):
        return (
            CANNOT_START,
            f"The database went away ({one_line(str(error), 120)}): `heartbit doctor` says more.",
        )
    if variables.EXTRA_APPS.read():  # their modules are imported late as well
        fault = importlib.import_module("heartbit_site.extra_apps").describe_fault(error)
        return (CANNOT_START, fault) if fault else None
    return None


def for_terminal(error: HeartbitError) -> str:
    """Return the sentence of an error, with the command that helps if there is one."""
    if error.remedy is None:
        return str(error)
    # pydantic is slow to import, and only some errors need it.
    find = importlib.import_module("heartbit_site.contract.operation").find_operation
    operation: Operation[Any] | None = find(error.remedy.operation)
    values = defaultdict(str, error.remedy.values)  # a server may have left one out
    return error.sentence(operation.command.format_map(values) if operation else "")


def report(error: BaseException, *, debug: bool) -> int:
    """Say on stderr what went wrong and return the exit code."""
    if debug:
        sys.stderr.write(clean("".join(traceback.format_exception(error))))
    found = explain(error)
    if found is None:
        name = type(error).__name__
        found = FAILED, f"Internal error ({name}: {error}); `heartbit --debug ...` shows where."
    say(found[1])
    return found[0]


def say(sentence: str) -> None:
    """Write the one line that a failing command leaves on stderr."""
    sys.stderr.write(f"heartbit: {one_line(sentence)}\n")


def on_defect(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    """`sys.excepthook` without --debug: a defect is one line too."""
    report(error if isinstance(error, kind) else kind(), debug=False)


def set_up_logging(*, debug: bool) -> None:
    """Send logs to stderr only if asked (--debug, HEARTBIT_LOG=info): it is for people.

    RUST_LOG, which the Rust original read, is answered with what replaced it.

    Raises:
        ConfigurationError: HEARTBIT_LOG names no level.
    """
    level = "DEBUG" if debug else variables.LOG.read().upper()
    if not level:
        if os.environ.get("RUST_LOG"):
            note("RUST_LOG is not read: HEARTBIT_LOG replaced it (debug, info, warning or error).")
        logging.getLogger().addHandler(logging.NullHandler())
        return
    log_to_stderr(level, "%(asctime)s %(levelname)-7s %(name)s: %(message)s")
