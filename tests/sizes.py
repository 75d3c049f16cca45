"""How much a test tries: little among all the others, what is promised when it is played alone."""

from __future__ import annotations

import os
import zlib

VARIABLE = "HEARTBIT_TEST_SIZE"  # "full": as `make security` plays it


def sized(little: int, *, full: int) -> int:
    """The one or the other."""
    return full if os.environ.get(VARIABLE) == "full" else little


def chosen(label: str, *, one_of: int) -> bool:
    """Return True for one case in so many, always the same ones; at full size for all."""
    return zlib.crc32(label.encode()) % sized(one_of, full=1) == 0
