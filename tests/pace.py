"""The machine's pace during a test, and replays of timing tests on a starved machine.

A test that asserts how long something took is marked ``paced`` and measures it with ``within``::

    with within(2):
        wait_until(lambda: run_is_queued(), seconds=30)

What is done, but late, raises ``Late``. If tasks of the machine had to wait for a processor or a
disk meanwhile, that says nothing about the code: the test is played again, at most ``REPLAYS``
times. On a slow processor the limits are longer. Any other failure counts at once, as does each at
full pace: a wrong value is wrong on every machine, and what never happens is not late.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import pytest
from _pytest.runner import runtestprotocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from _pytest.terminal import TerminalReporter

REPLAYS: Final = 3
#: A machine whose tasks waited for this share of a second is starved.
STARVED_SHARE: Final = 0.5
STRETCH: Final = 3
WINDOW_SECONDS: Final = 1.0
#: Processor seconds of ``_loop`` on the machine on which the tests' limits were set.
LOOP_SECONDS: Final = 0.033
PRESSURE: Final = Path("/proc/pressure")
_REPLAYED: Final = "replayed"
#: Of a play's errors, whether each is that something was late.
_ERRORS: Final = pytest.StashKey[list[bool]]()


def waited(resource: str) -> float | None:
    """Return the seconds since boot in which a task waited for ``cpu`` or ``io``.

    None where the kernel does not count them.
    """
    try:
        first = (PRESSURE / resource).read_text().splitlines()[0]
    except OSError:
        return None
    return int(first.rpartition("total=")[2]) / 1e6


class Late(AssertionError):
    """Something was done, but took longer than it may."""


class GaveUp(AssertionError):
    """Something that was waited for did not happen in its time."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Assert that the block takes less than the seconds.

    What the block itself raises is passed on: only a block that did all it was to do can be late.

    Raises:
        Late: It took longer.
    """
    began = time.monotonic()
    yield
    in_time(time.monotonic() - began, seconds)


def in_time(took: float, seconds: float) -> None:
    """Assert that what was measured some other way took less than the seconds.

    Raises:
        Late: It took longer.
    """
    if took >= (allowed := seconds * slowness()):
        raise Late(f"it took {took:.3g} s, and may take {allowed:.3g} s")


@functools.cache
def slowness() -> float:
    """Return how many times slower this processor is than the reference, at least 1."""
    return max(1.0, min(_loop() for _ in range(3)) / LOOP_SECONDS)


def _loop() -> float:
    began = time.process_time()
    sum(range(5_000_000))
    return time.process_time() - began


class Patience:
    """A limit on waiting for something to happen, in the machine's own time.

    Args:
        seconds: Limit at full pace; ``STRETCH`` times as long while the machine is starved.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._before, self._at = _waits(), time.monotonic()

    def __bool__(self) -> bool:
        """Return True while it is reasonable to go on waiting."""
        elapsed = time.monotonic() - self._at
        if elapsed < self._seconds:
            return True
        waited = max(new - old for new, old in zip(_waits(), self._before, strict=True))
        return waited / elapsed >= STARVED_SHARE and elapsed < STRETCH * self._seconds


class Pace:
    """Watch of the machine's pace while entered.

    Attributes:
        worst: Largest share of a window in which a task waited for a processor or a disk.
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="pace", daemon=True)

    def __enter__(self) -> Self:
        self._before, self._at = _waits(), time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def excuse(self) -> str:
        """One sentence if the machine was starved, else empty."""
        if self.worst < STARVED_SHARE:
            return ""
        return f"the machine was starved: tasks waited for {self.worst:.0%} of a second"

    def _watch(self) -> None:
        over = False
        while not over:
            over = self._over.wait(WINDOW_SECONDS)
            now, seconds = _waits(), time.monotonic() - self._at
            if over and self.worst and seconds < WINDOW_SECONDS / 10:
                return  # the rest of a watched time is too short to be judged
            shares = [(new - old) / seconds for new, old in zip(now, self._before, strict=True)]
            self.worst = max(self.worst, *shares)
            self._before, self._at = now, self._at + seconds


def _waits() -> list[float]:
    found = [waited("cpu"), waited("io")]
    if None not in found:
        return [seconds or 0.0 for seconds in found]
    # Without the kernel's figures: a queue longer than the processors counts as waiting.
    queue = os.getloadavg()[0] > (os.cpu_count() or 1)
    return [time.monotonic() if queue else 0.0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note of each error of a test whether something was merely late."""
    if call.excinfo is not None:
        item.stash.setdefault(_ERRORS, []).append(call.excinfo.errisinstance(Late))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Play a ``paced`` test again while it is late on a starved machine."""
    if item.get_closest_marker("paced") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for replay in range(REPLAYS + 1):
        errors = item.stash[_ERRORS] = []
        with Pace() as pace:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        is_late = errors and all(errors)
        if not is_late or not pace.excuse or replay == REPLAYS:
            break
        item.user_properties.append((_REPLAYED, pace.excuse))
        item._initrequest()  # type: ignore[attr-defined]  # fresh fixtures for the next play
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Name the tests that were played again, and why."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for name, excuse in report.user_properties:
                if name == _REPLAYED:
                    terminalreporter.write_line(f"PLAYED AGAIN: {report.nodeid}: {excuse}")
