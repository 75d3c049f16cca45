"""What others on the same loop feel of something: how long they wait, and how much memory goes."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.base import aio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

#: What another run may wait, and what the process may grow by.
SECONDS: Final = 1.0
MEGABYTES: Final = 200
_TICK: Final = 0.005


@dataclass
class Felt:
    """What was felt.

    Attributes:
        waited: The longest time that another coroutine did not get its turn, in seconds.
        megabytes: Growth of the process's memory at its peak.
    """

    waited: float = 0.0
    megabytes: float = 0.0

    def note(self, into: Callable[[str, object], None]) -> None:
        """Note both for the row of ``make security``, which has the largest of its tests."""
        into("most:seconds_others_waited", round(self.waited, 3))
        into("most:megabytes", round(self.megabytes))


@asynccontextmanager
async def beside() -> AsyncIterator[Felt]:
    """Measure during the block."""
    felt = Felt()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _peak()
    ticking = asyncio.create_task(_tick(felt))
    try:
        await asyncio.sleep(0)
        yield felt
    finally:
        await aio.cancel_and_wait(ticking)
        felt.megabytes = (_peak() - before) / 1024


async def _tick(felt: Felt) -> None:
    while True:
        began = time.monotonic()
        try:
            await asyncio.sleep(_TICK)
        finally:
            felt.waited = max(felt.waited, time.monotonic() - began - _TICK)


def _peak() -> int:
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1])
