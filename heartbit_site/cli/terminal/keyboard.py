"""Lines from the terminal, read on the event loop: nothing blocks, and a question can be given up.

The terminal stays in its usual mode, so line editing, Ctrl-C and Ctrl-D work as everywhere.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import Final

from heartbit_site.cli.terminal.output import is_terminal

LONGEST_READ: Final = 65_536


def is_interactive() -> bool:
    """Return True if a person can be asked: terminals on both ends, this process in front."""
    if not (is_terminal() and sys.stdin is not None and sys.stdin.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False  # another user's terminal


async def line(prompt: str) -> str | None:
    """Return the person's answer; None at the end of input (Ctrl-D).

    Input from before the prompt is dropped: it answered something else.
    """
    descriptor = sys.stdin.fileno()
    termios.tcflush(descriptor, termios.TCIFLUSH)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    typed = b""
    try:
        while not typed.endswith(b"\n"):
            await _readable(descriptor)
            piece = os.read(descriptor, LONGEST_READ)
            if not piece:
                break
            typed += piece
    except asyncio.CancelledError:
        termios.tcflush(descriptor, termios.TCIFLUSH)
        sys.stderr.write("\n")
        sys.stderr.flush()
        raise
    if not typed:
        sys.stderr.write("\n")
        return None
    return typed.decode(errors="replace").rstrip("\r\n")


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
