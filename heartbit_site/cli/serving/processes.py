"""Child processes under supervision: started again when they fail, ended when it is time.

They are forks of this process, which therefore starts no thread. Their output comes with a name
before each line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from typing import ClassVar, Final

from rich.console import Console
from rich.text import Text

from heartbit_site.base.terminal_text import clean
from heartbit_site.cli.serving import fork

FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 30.0
STABLE_SECONDS: Final = 30.0
END_SECONDS: Final = 10.0
#: Between two looks for the exit code of a process that has closed its output.
LOOK_SECONDS: Final = 0.02
LINE_BYTES: Final = 1 << 20
NAME_WIDTH: Final = 6


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the whole.

    Attributes:
        name: What its lines begin with.
        style: The colour of that name.
        arguments: Its command line after `heartbit`.
    """

    name: str
    style: str
    arguments: Sequence[str]


class Child:
    """Keeper of one running part, until it is asked to end."""

    #: Where this process reads what its children write.
    _outputs: ClassVar[set[int]] = set()

    def __init__(self, part: Part, console: Console) -> None:
        self.part = part
        self._console = console
        self._process: ForkProcess | None = None
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
        if self._process is not None and self._process.pid and self._exit_code() is None:
            os.kill(self._process.pid, number)

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
        loop = asyncio.get_running_loop()
        started: asyncio.Future[int] = loop.create_future()
        # From a callback: a task that forks would still be the current one in the fork.
        loop.call_soon(self._start, started)
        await self._relay(await started)
        while (code := self._exit_code()) is None:
            await asyncio.sleep(LOOK_SECONDS)
        return code

    def _start(self, started: asyncio.Future[int]) -> None:
        reading, writing = os.pipe()
        self._outputs.add(reading)
        try:
            self._process = fork.start(self.part.arguments, writing, self._outputs)
        except OSError as error:
            started.set_exception(error)
        else:
            started.set_result(reading)
        finally:
            os.close(writing)
        if self._over.is_set():  # it was asked to end while it was being started
            self.signal(signal.SIGTERM)

    def _exit_code(self) -> int | None:
        return self._process.exitcode if self._process is not None else None

    async def _relay(self, reading: int) -> None:
        output = asyncio.StreamReader(LINE_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", 0)
        )
        try:
            while True:
                try:
                    line = await output.readline()
                except ValueError:
                    continue  # a line of a megabyte: dropped
                if not line:
                    return
                self.say(line.decode(errors="replace").rstrip())
        finally:
            self._outputs.discard(reading)
            transport.close()


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
