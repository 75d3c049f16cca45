"""An end that leaves no process behind, however it comes."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
SECONDS = 10.0  # for what is left to end by itself


@contextmanager
def ended_with_children() -> Iterator[None]:
    """Leave the block in order when a signal asks for it, and end what this process started."""
    code = 0

    def leave(number: int, _: object) -> None:
        nonlocal code
        for each in (*SIGNALS, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)  # one is enough: the end is under way
        code = 128 + number
        sys.exit(code)

    for each in SIGNALS:
        signal.signal(each, leave)
    try:
        yield
    finally:
        left = psutil.Process().children(recursive=True)
        for process in left:
            _end(process, signal.SIGTERM)
        _, left = psutil.wait_procs(left, timeout=SECONDS)
        for process in left:
            _end(process, signal.SIGKILL)
        if code:  # also where it was raised in code that made another exception of it
            sys.exit(code)


def _end(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
