"""Thresholds of the garbage collector."""

from __future__ import annotations

import gc
from typing import Final

#: Thresholds of the garbage collector. With Python's own, a burst of runs spends an eighth of a
#: worker's processor time on a search for cycles that hardly exist, and a command a tenth of a
#: second on a search among the modules that it imports.
THRESHOLDS: Final = (50_000, 20, 100)


def collect_seldom() -> None:
    """Look for cyclic garbage after many more new objects than Python does by default."""
    gc.set_threshold(*THRESHOLDS)
