"""Commands as forks of a process that has imported what they need.

What the processes of `heartbit up` import is in memory once, for a fork copies only the pages that
it writes to. A fork is ended by the kernel when its parent ends, so `heartbit up`, killed, leaves
nothing behind.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Collection, Sequence
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, Final, TextIO

from heartbit_site.cli import main
from heartbit_site.cli.installation import startup

PR_SET_PDEATHSIG: Final = 1
#: Signals that this process may handle, and what a fork does on them until it says otherwise.
_HANDLED: Final[dict[signal.Signals, Any]] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
#: Positions of the first and the last address of the command line, after the name in brackets.
_COMMAND_LINE: Final = (45, 46)


def start(arguments: Sequence[str], output: int, inherited: Collection[int]) -> ForkProcess:
    """Start `heartbit` with these arguments as a fork of this process.

    No thread of this process may hold a lock: the fork would inherit it, and never see it released.

    Args:
        arguments: The command line after `heartbit`.
        output: The descriptor that standard output and errors go to.
        inherited: Descriptors that a fork has no use for.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_become, args=(arguments, output, inherited, os.getpid()), daemon=True
    )
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal in between would run this process's handlers in the fork.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    return process


def _become(arguments: Sequence[str], output: int, inherited: Collection[int], parent: int) -> None:
    _leave(output, inherited, parent)
    _rename(arguments)
    startup.is_prepared = True
    sys.argv = ["heartbit", *arguments]
    # What a worker that is asked to restart executes: then it is no fork any more.
    sys.orig_argv = [sys.executable, "-P", "-m", main.__name__, *arguments]
    os.environ["PYTHONUNBUFFERED"] = "1"
    try:
        main.main()
    finally:
        atexit._run_exitfuncs()


def _leave(output: int, inherited: Collection[int], parent: int) -> None:
    """Part with the parent: its terminal, its files, its signals."""
    signal.set_wakeup_fd(-1)
    for number, handler in _HANDLED.items():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before this
        sys.exit(1)
    os.setsid()  # the terminal's Ctrl-C is for the parent alone, which ends all of them in order
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(file, standard)
    for file in {nothing, output, *inherited}:
        os.close(file)
    # The parent's may be of files that can be sought in, which a pipe cannot.
    sys.stdout, sys.stderr = _written(1, sys.stdout), _written(2, sys.stderr)


def _written(number: int, former: TextIO) -> TextIO:
    return open(number, "w", 1, former.encoding, former.errors, closefd=False)


def _rename(arguments: Sequence[str]) -> None:
    """Let `ps` show the fork's command line, as far as there is room, instead of the parent's."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        first, last = (int(fields[position]) for position in _COMMAND_LINE)
        line = "\0".join(("heartbit", *arguments)).encode()[: max(0, last - first - 1)]
        ctypes.memmove(first, line.ljust(last - first, b"\0"), last - first)
