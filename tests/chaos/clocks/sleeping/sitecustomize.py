"""Read at the start of a Python whose clock is wrong: it sleeps by another call.

libfaketime 0.9.10 lets each ``clock_nanosleep`` fail with EINVAL where it leaves the monotonic
clock alone, and ``time.sleep`` is that call.
"""

from __future__ import annotations

import select
import time
from typing import SupportsIndex


def _sleep(seconds: float | SupportsIndex) -> None:
    select.select([], [], [], float(seconds))


time.sleep = _sleep
