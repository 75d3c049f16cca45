"""What chaos tests of one process have in common."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.fleet import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def others_frozen(database: None) -> Iterator[None]:
    """Workers of other tests hold their breath: their sweepers look after every run there is."""
    others = sorted(Worker.running)
    _tell(others, signal.SIGSTOP)
    yield
    _tell(others, signal.SIGCONT)


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(pid, number)
