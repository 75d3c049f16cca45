"""A person at a terminal: `heartbit` on a pseudo-terminal of its own, read and typed at."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import threading
import time
from typing import TYPE_CHECKING, Self

from tests import prepared

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = "[s]kip > "
JSON_PROMPT = "one line of JSON > "
REASON_PROMPT = "reads it > "
EDITED = "with other arguments."
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Terminal:
    """Runs a command in the foreground of a terminal; standard output is a pipe of its own."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None, columns: int = 100):
        self._mouth, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})}
        environment.pop("EDITOR", None) if not env or "EDITOR" not in env else None
        environment.pop("VISUAL", None)
        self.process = prepared.shared().converse(arguments, environment, terminal=terminal)
        os.close(terminal)
        self._shown = bytearray()
        self._seen = 0
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=10)
        self._reading.join()
        os.close(self._mouth)

    def _read(self) -> None:
        try:
            while piece := os.read(self._mouth, 65536):
                self._shown.extend(piece)
        except OSError:
            pass  # the other end is closed

    @property
    def raw(self) -> str:
        """Everything written to the terminal so far."""
        return self._shown.decode(errors="replace")

    @property
    def text(self) -> str:
        """The same without what moves the cursor or colours."""
        return _SEQUENCE.sub("", self.raw).replace("\r\n", "\n")

    def sees(self, part: str, *, seconds: float = 30.0) -> str:
        """Wait until the part is shown, after what was waited for before; what came with it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.text.find(part, self._seen)
            if found >= 0:
                shown = self.text[self._seen : found + len(part)]
                self._seen = found + len(part)
                return shown
            time.sleep(0.02)
        raise AssertionError(f"{part!r} is not shown; this is:\n{self.text[self._seen :]}")

    def types(self, line: str) -> None:
        """Type a line."""
        os.write(self._mouth, line.encode() + b"\n")

    def presses(self, key: bytes) -> None:
        """Press one key."""
        os.write(self._mouth, key)

    def ends(self, *, seconds: float = 60.0) -> tuple[int, str]:
        """Wait for the command's end; its code and what it wrote to standard output."""
        out, _ = self.process.communicate(timeout=seconds)
        self._reading.join()
        assert self.process.returncode is not None
        return self.process.returncode, out


def answers(terminal: Terminal, reply: Callable[[Terminal], None]) -> str:
    """Wait for the prompt, reply, and give back what was asked."""
    shown = terminal.sees(PROMPT)
    reply(terminal)
    return shown
