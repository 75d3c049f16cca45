"""Child processes under supervision: started again when they fail, ended when it is time.

Their output comes with a name before each line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text

from heartbit_site.base.terminal_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 30.0
STABLE_SECONDS: Final = 30.0
END_SECONDS: Final = 10.0
LINE_BYTES: Final = 1 << 20
NAME_WIDTH: Final = 6


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the whole.

    Attributes:
        name: What its lines begin with.
        style: The colour of that name.
        module: What it runs, as with `python -m`.
        arguments: Its command line.
    """

    name: str
    style: str
    module: str
    arguments: Sequence[str]


class Child:
    """Keeper of one running part, until it is asked to end."""

    def __init__(self, part: Part, console: Console) -> None:
        self.part = part
        self._console = console
        self._process: asyncio.subprocess.Process | None = None
        self._over = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the part, and again whenever it fails; code 0 is the end."""
        self._keeper = asyncio.create_task(self._keep(), name=self.part.name)

    async def end(self) -> None:
        """Ask it to end, wait, and kill it if it does not."""
        self._over.set()
        if self._keeper is None:
            return
        self.signal(signal.SIGTERM)
        _, pending = await asyncio.wait([self._keeper], timeout=END_SECONDS)
        if pending:
            self.say(f"does not end within {END_SECONDS:.0f} s: killed")
            self.signal(signal.SIGKILL)
        await self._keeper

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    def say(self, text: str) -> None:
        """Write a line of its output, or about it."""
        line = Text(f"{self.part.name:<{NAME_WIDTH}} | ", style=self.part.style)
        line.append(clean(text), style="")
        self._console.print(line, soft_wrap=True)

    async def _keep(self) -> None:
        delay = FIRST_DELAY_SECONDS
        while not self._over.is_set():
            began = time.monotonic()
            code = await self._run()
            if self._over.is_set():
                return
            if code == 0:
                self.say("ended as it was asked to")
                return
            if time.monotonic() - began > STABLE_SECONDS:
                delay = FIRST_DELAY_SECONDS
            self.say(f"ended ({_how(code)}); starting it again in {delay:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), delay)
            delay = min(LONGEST_DELAY_SECONDS, 2 * delay)

    async def _run(self) -> int:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "heartbit_site.cli.child", str(os.getpid()), self.part.module),
            *self.part.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # the terminal's Ctrl-C is for us alone; we end them in order
            limit=LINE_BYTES,
        )
        if self._over.is_set():  # it was asked to end while it was being started
            self.signal(signal.SIGTERM)
        if self._process.stdout is not None:
            await self._relay(self._process.stdout)
        return await self._process.wait()

    async def _relay(self, output: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await output.readline()
            except ValueError:
                continue  # a line of a megabyte: dropped
            if not line:
                return
            self.say(line.decode(errors="replace").rstrip())


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
