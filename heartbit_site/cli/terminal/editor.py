"""A person's own editor on a text, in the foreground of the terminal."""

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

FILE: Final = "arguments.json"


class EditorError(HeartbitError):
    """The editor did not do its work; the text is as it was."""


def command() -> list[str]:
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
