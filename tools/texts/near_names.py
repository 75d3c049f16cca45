"""Suggestions of similar names, for sentences about an unknown name.

Apart from the registry, which imports all that a tool is made of.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z0-9]+")
_NEITHER = re.compile(r"[^a-z0-9]")
_SHOWN_NAMES = 3
_LIKE = 0.55
_LONGEST = 200


def closest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return up to three names most similar to a wrong one, best first.

    The cost is the product of two lengths, so a name that is too long gets no suggestion.
    """
    if len(name) > _LONGEST:
        return ()
    likeness = {known: _likeness(name, known) for known in names if len(known) <= _LONGEST}
    found = sorted(likeness, key=lambda known: -likeness[known])
    return tuple(known for known in found if likeness[known] > _LIKE)[:_SHOWN_NAMES]


def hint(name: str, names: Iterable[str], *, most: int | None = None) -> str:
    """Return the end of a sentence about an unknown name: the closest name, or the existing names.

    Args:
        name: The unknown name.
        names: The existing names.
        most: The number of names to list; None: all.
    """
    known = list(names)
    near = closest(name, known)
    if near:
        return f"did you mean {near[0]}?"
    more = f" and {len(known) - most} more" if most is not None and len(known) > most else ""
    return f"there are: {', '.join(known[:most]) or 'none yet'}{more}"


def _likeness(name: str, known: str) -> float:
    """Return the similarity of two names: letters in order, plus shared words in any order."""
    letters = difflib.SequenceMatcher(a=normalized(name), b=normalized(known)).ratio()
    words = set(_WORD.findall(name.lower()))
    shared = words & set(_WORD.findall(known.lower()))
    return letters + len(shared) / max(1, len(words))


def normalized(name: str) -> str:
    """Return a name's letters and digits, in lower case."""
    return _NEITHER.sub("", name.lower())
