"""Merges of writes into the state of a workflow."""

from __future__ import annotations

import json
from typing import Any

from agents.workflows.records import Write


class MergeError(Exception):
    """A value cannot be merged; ``str(error)`` is a sentence about it."""


class StateValues:
    """Values of a state's keys, to which the writes of one commit are merged.

    Values that others may hold are not changed: a list or an object is copied at its first write of
    the commit, and later ones change the copy.

    Attributes:
        values: Values by key.
        sizes: Size of each value as JSON; for numbers, of their last writes.
    """

    def __init__(self, values: dict[str, Any], sizes: dict[str, int]) -> None:
        self.values, self.sizes = values, sizes
        self._own: set[str] = set()

    def write(self, write: Write) -> None:
        """Merge a write.

        Raises:
            MergeError: It does not fit the current value.
        """
        key, size = write.key, size_of(write.value)
        if write.merge in ("append", "merge"):
            self.values[key] = self._grown(write, self.values.get(key))
            self._own.add(key)
            size += self.sizes.get(key, 0)
        else:
            self.values[key] = _replaced(write, self.values.get(key))
            self._own.discard(key)
        self.sizes[key] = size

    def _grown(self, write: Write, current: Any) -> Any:
        grown: Any = [] if write.merge == "append" else {}
        if current is not None:
            grown = _checked(write, current, type(grown))
            grown = grown if write.key in self._own else grown.copy()
        if isinstance(grown, list):
            grown.append(write.value)
        else:
            grown.update(_checked(write, write.value, dict))
        return grown


def size_of(value: Any) -> int:
    """Return the number of characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _replaced(write: Write, current: Any) -> Any:
    if write.merge == "set":
        return write.value
    number = _checked(write, write.value, (int, float))
    if current is None:
        return number
    before = _checked(write, current, (int, float))
    if write.merge == "add":
        return before + number
    return min(before, number) if write.merge == "min" else max(before, number)


def _checked(write: Write, value: Any, accepted: Any) -> Any:
    """Return a value of the accepted types, which true and false never are."""
    if isinstance(value, accepted) and not isinstance(value, bool):
        return value
    wanted = {list: "a list", dict: "an object"}.get(accepted, "a number")
    raise MergeError(
        f'The state\'s key "{write.key}" is merged by {write.merge}, and {value!r:.60} is not '
        f"{wanted}: write {wanted}, or declare another merge."
    )
