"""Follow a run tree into a display until it has ended, a person interrupts, or both.

Of the signals only Ctrl-C is a person's word about the run; SIGTERM and SIGHUP are about this
process, a machine that shuts down or a terminal that was closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from agents.live.updates import EventUpdate, Update
from heartbit_site.base import aio
from heartbit_site.base.database_faults import is_away
from heartbit_site.cli.terminal.errors import CANCELLED, LostError
from heartbit_site.cli.terminal.output import survive_hangup

if TYPE_CHECKING:
    from agents.live.updates import Update
    from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
    from heartbit_site.cli.views.display import Display

TICK_SECONDS: Final = 0.1
RETRY_SECONDS: Final = 0.5
PATIENCE: Final = 30.0  # a database, or a server, that restarts is back within seconds


async def watch_until_left(
    root_id: UUID,
    updates: Callable[[], AsyncIterator[Update]],
    display: Display,
    attendant: ApprovalWatcher,
) -> Ending:
    """Show the tree until all of its runs have ended, or the person leaves it; see ``watch``."""
    with display:
        watching = asyncio.ensure_future(watch(root_id, updates, display, attendant))
        with interrupts(display, watching.cancel, attendant):
            await asyncio.wait([watching])
    if watching.cancelled():
        return "left"
    watching.result()
    return "waits" if attendant.waits else "ended"


async def watch(
    root_id: UUID,
    updates: Callable[[], AsyncIterator[Update]],
    display: Display,
    attendant: ApprovalWatcher,
) -> None:
    """Show the tree until all of its runs have ended; what waits meanwhile is the attendant's.

    Args:
        root_id: The run at the top.
        updates: Begins to read the tree's updates, from the first one.
        display: Shows them.
        attendant: Hears of them.
    """
    tasks = [
        asyncio.create_task(_follow(updates, display, attendant)),
        asyncio.create_task(_tick(display)),
        asyncio.create_task(attendant.attend(root_id)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await aio.cancel_and_wait(*tasks)
    for task in done:
        task.result()


async def _follow(
    updates: Callable[[], AsyncIterator[Update]],
    display: Display,
    attendant: ApprovalWatcher,
) -> None:
    """Follow a run; after a lost connection from the start, since the fold takes an event once."""
    lost_at: float | None = None
    while True:
        try:
            async for update in updates():
                lost_at = None
                _show(functools.partial(display.update, update))
                if isinstance(update, EventUpdate):
                    attendant.hear(update.recorded.event.type)
        except Exception as error:
            now = asyncio.get_running_loop().time()
            lost_at = now if lost_at is None else lost_at
            again = isinstance(error, LostError) or is_away(error)
            if not again or now - lost_at > PATIENCE:
                raise
            await asyncio.sleep(RETRY_SECONDS)
        else:
            await attendant.finish()
            return


async def _tick(display: Display) -> None:
    while True:
        _show(display.tick)
        await asyncio.sleep(TICK_SECONDS)


def _show(write: Callable[[], None]) -> None:
    """Show something; a terminal that is gone does not end the run that was shown on it."""
    try:
        write()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        survive_hangup()


def exit_code(number: signal.Signals) -> int:
    """Return the exit code of a process that a signal made leave, as shells count."""
    return CANCELLED if number == signal.SIGINT else 128 + number


@contextlib.contextmanager
def interrupts(
    display: Display,
    first: Callable[[], object],
    attendant: ApprovalWatcher,
    *,
    leave: Callable[[signal.Signals], None] | None = None,
) -> Iterator[None]:
    """Within it, the first signal calls a function on the loop and the second ends the process.

    Of a process that is leaving already a SIGHUP ends nothing: a terminal that is closed sends
    two, its shell's and the kernel's.

    While the person's editor has the terminal, Ctrl-C is the editor's. A SIGHUP that the process
    was started to ignore (`nohup`) stays ignored.

    Args:
        display: Taken off the terminal when the process ends at once.
        first: Called for Ctrl-C.
        attendant: Knows of the editor.
        leave: Called for SIGTERM and SIGHUP; `first` if None.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def interrupted(number: signal.Signals) -> None:
        nonlocal count
        if number == signal.SIGINT and attendant.is_deaf:
            return
        survive_hangup()
        if number == signal.SIGHUP and count:
            return
        count += 1
        if count > 1:
            display.__exit__(None, None, None)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(exit_code(number))
        if number == signal.SIGINT or leave is None:
            first()
        else:
            leave(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, interrupted, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
        if count and signal.SIGHUP in numbers:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is leaving, with a word to say


Ending = Literal["ended", "left", "waits"]
