"""Patterns of paths, such as ``**/*.py``. Pure.

Not translated into a regular expression: forty ``**/`` in a row would make it run for hours.
"""

from __future__ import annotations

from collections import defaultdict


def parts_of(pattern: str) -> tuple[str, ...]:
    """Return the parts of a pattern: ``**/``, ``**``, ``*``, ``?``, or a character."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        stars = next((each for each in ("**/", "**") if pattern.startswith(each, at)), pattern[at])
        parts.append(stars)
        at += len(stars)
    return tuple(parts)


def fits(parts: tuple[str, ...], path: str) -> bool:
    """Return True if a pattern matches the whole path, in a few steps for each of its parts.

    ``*`` and ``?`` match within a folder, ``**`` crosses folders, and ``**/`` may match no folder.

    Args:
        parts: The pattern, as ``parts_of`` returns it.
        path: The path.
    """
    places: defaultdict[str, int] = defaultdict(int)  # bit n: the character is at position n
    for place, letter in enumerate(path):
        places[letter] |= 1 << place
    end = 1 << len(path)
    within = (end - 1) & ~places["/"]
    ends = 1  # bit n: the parts so far fit the first n characters
    for part in parts:
        if part == "**":
            ends = _from_first(ends, end)
        elif part == "**/":
            ends |= (_from_first(ends, end) & places["/"]) << 1
        elif part == "*":
            # The addition carries each end through all following characters up to a slash.
            ends |= ((ends & within) + within) ^ within
        else:
            ends = (ends & (within if part == "?" else places[part])) << 1
    return bool(ends & end)


def _from_first(ends: int, end: int) -> int:
    """Return the first end together with every position after it."""
    first = ends & -ends
    return (2 * end - first) if first else 0
