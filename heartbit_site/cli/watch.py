"""Follow a run tree into a display until it has ended, a person interrupts, or both."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from agents.live.follow import follow
from heartbit_site.base import aio
from heartbit_site.cli.errors import CANCELLED, database_is_away

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from agents.live.window import Source
    from heartbit_site.cli.attendant import Attendant
    from heartbit_site.cli.display import Display

TICK_SECONDS: Final = 0.1
DATABASE_PATIENCE: Final = 30.0  # a database that restarts is back within seconds


async def watch(
    root_id: UUID, source: Source, display: Display, attendant: Attendant | None = None
) -> None:
    """Show the tree until all of its runs have ended; what waits meanwhile is the attendant's."""
    tasks = [
        asyncio.create_task(_follow(root_id, source, display, attendant)),
        asyncio.create_task(_tick(display)),
    ]
    if attendant is not None:
        tasks.append(asyncio.create_task(attendant.attend(root_id)))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await aio.cancel_and_wait(*tasks)
    for task in done:
        task.result()


async def _follow(
    root_id: UUID, source: Source, display: Display, attendant: Attendant | None
) -> None:
    """The display's fold takes an event once, so after a lost connection it begins again."""
    lost_at: float | None = None
    while True:
        try:
            async for update in follow(root_id, source):
                lost_at = None
                display.update(update)
                if attendant is not None:
                    attendant.hear(update)
        except Exception as error:
            now = asyncio.get_running_loop().time()
            lost_at = now if lost_at is None else lost_at
            if not database_is_away(error) or now - lost_at > DATABASE_PATIENCE:
                raise
            await asyncio.sleep(1.0)
        else:
            if attendant is not None:
                await attendant.finish()
            return


async def _tick(display: Display) -> None:
    while True:
        display.tick()
        await asyncio.sleep(TICK_SECONDS)


@contextlib.contextmanager
def interrupts(
    display: Display, first: Callable[[], None], attendant: Attendant | None = None
) -> Iterator[None]:
    """Within it, the first Ctrl-C calls `first` on the loop and the second ends the process.

    While the person's editor has the terminal, Ctrl-C is the editor's.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def interrupted(number: int) -> None:
        nonlocal count
        if number == signal.SIGINT and attendant is not None and attendant.is_deaf:
            return
        count += 1
        if count == 1:
            first()
            return
        display.__exit__(None, None, None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(CANCELLED)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, interrupted, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
