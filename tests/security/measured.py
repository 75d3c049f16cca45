"""Memory that a block takes at its peak, and the longest wait of a task beside it."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

#: More memory than before at most, in megabytes; and the seconds that another task may wait.
MOST_MEGABYTES: Final = 200
MOST_SECONDS: Final = 1.0
_STATUS: Final = Path("/proc/self/status")
_PEAK_BEGINS_AGAIN: Final = "5"


@dataclass(slots=True)
class Measured:
    """The block's amounts, once it has ended.

    Attributes:
        megabytes: Peak of resident memory above that at the block's start.
        seconds: Wall time.
        waited: Longest time that a task on the same loop did not get its turn; 0 without a loop.
    """

    megabytes: float = 0.0
    seconds: float = 0.0
    waited: float = 0.0

    def __str__(self) -> str:
        return (
            f"+{self.megabytes:.0f} MB, {self.seconds:.2f} s, another task waited "
            f"{self.waited:.2f} s"
        )


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure a block of this process."""
    amounts = Measured()
    gc.collect()
    Path("/proc/self/clear_refs").write_text(_PEAK_BEGINS_AGAIN)
    before, began = _kilobytes("VmRSS"), time.monotonic()
    try:
        yield amounts
    finally:
        amounts.seconds = time.monotonic() - began
        amounts.megabytes = (_kilobytes("VmHWM") - before) / 1024


@asynccontextmanager
async def measured_on_loop() -> AsyncIterator[Measured]:
    """Measure a block on the running loop, with a task beside it that wants a turn every 5 ms."""
    with measured() as amounts:
        beside = asyncio.create_task(_take_turns(amounts))
        await asyncio.sleep(0)
        try:
            yield amounts
        finally:
            await asyncio.sleep(0)
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside


async def _take_turns(amounts: Measured) -> None:
    last = time.monotonic()
    while True:
        await asyncio.sleep(0.005)
        now = time.monotonic()
        amounts.waited = max(amounts.waited, now - last - 0.005)
        last = now


def _kilobytes(name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    assert found is not None, f"the kernel does not say {name}"
    return int(found[1])
