"""Unified diffs of texts that others wrote, within a bounded time. Pure.

``difflib`` takes cubic time for lines that repeat: 12 seconds for two texts of 10,000 lines.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

#: Maximum lines of a text that is compared line by line: a tenth of a second.
MOST_COMPARED: Final = 1_500


def line_diff(before: Sequence[str], after: Sequence[str], *, context: int) -> list[str]:
    """Return the lines of a unified diff, without the header that names files.

    For a text with more than ``MOST_COMPARED`` lines, the whole range from the first to the last
    difference is shown as removed and added.

    Args:
        before: Lines of the old text, without their ends.
        after: Lines of the new one.
        context: Number of equal lines shown around a change.
    """
    if max(len(before), len(after)) <= MOST_COMPARED:
        return list(difflib.unified_diff(before, after, lineterm="", n=context))[2:]
    first = _shared(zip(before, after, strict=False))
    last = _shared(zip(reversed(before[first:]), reversed(after[first:]), strict=False))
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if not old and not new:
        return []
    head = f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _shared(pairs: Iterable[tuple[str, str]]) -> int:
    """Return the number of leading pairs of equal lines."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
