"""Make ``time.sleep`` work under libfaketime; Python imports this module when it starts.

``time.sleep`` calls ``clock_nanosleep``, which fails with EINVAL under libfaketime 0.9.10 with
``FAKETIME_DONT_FAKE_MONOTONIC``.
"""

from __future__ import annotations

import select
import time
from typing import SupportsIndex


def _sleep(seconds: float | SupportsIndex) -> None:
    select.select([], [], [], float(seconds))


time.sleep = _sleep
