"""Typing of a person: lines read on the event loop, which can be given up, and an editor.

The terminal stays in its usual mode, so line editing, Ctrl-C and Ctrl-D work as everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
import tempfile
import termios
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import HeartbitError
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


FILE: Final = "arguments.json"


class EditorError(HeartbitError):
    """The editor did not do its work; the text is as it was."""


def editor_command() -> list[str]:
    """VISUAL or EDITOR with its options; empty when neither is set.

    Raises:
        EditorError: Its quotes do not close.
    """
    text = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    try:
        return shlex.split(text)
    except ValueError as error:
        raise EditorError(f"VISUAL or EDITOR cannot be understood ({error}).") from error


async def edited(words: list[str], text: str, file: str = FILE) -> str:
    """Return a text as the person leaves it in the editor, which sees it as a file of that name.

    Raises:
        EditorError: The editor cannot be started, or ends with an error.
    """
    with tempfile.TemporaryDirectory(prefix="heartbit-") as folder:  # only its owner may enter
        path = Path(folder, file)
        path.write_text(text + "\n", encoding="utf-8")
        await _run([*words, str(path)])
        return path.read_text(encoding="utf-8", errors="replace")


async def _run(words: list[str]) -> None:
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        # Standard output may be a file for the answer; the terminal is at standard error.
        process = await asyncio.create_subprocess_exec(*words, stdout=sys.stderr.fileno())
    except OSError as error:
        raise EditorError(
            f"The editor {words[0]!r} cannot be started ({error.strerror}): set EDITOR, or unset "
            "it to type one line."
        ) from error
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        raise
    if code:
        raise EditorError(f"The editor ended with code {code}: nothing was changed.")
