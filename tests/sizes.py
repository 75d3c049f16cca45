"""How much a test tries: little among all the others, what is promised when it is played alone."""

from __future__ import annotations

import os

VARIABLE = "HEARTBIT_TEST_SIZE"  # "full": as `make security` plays it


def sized(little: int, *, full: int) -> int:
    """The one or the other."""
    return full if os.environ.get(VARIABLE) == "full" else little
