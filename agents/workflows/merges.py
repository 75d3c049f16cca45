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
        if write.merge == "append":
            entries = _list(write, current)
            entries = entries if write.key in self._own else [*entries]
            entries.append(write.value)
            return entries
        pairs = _object(write, current or {})
        pairs = pairs if write.key in self._own else {**pairs}
        pairs.update(_object(write, write.value))
        return pairs


def size_of(value: Any) -> int:
    """Return the number of characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _replaced(write: Write, current: Any) -> Any:
    value = write.value
    if write.merge == "set":
        return value
    number = _number(write, value)
    if current is None:
        return number
    before = _number(write, current)
    match write.merge:
        case "add":
            return before + number
        case "min":
            return min(before, number)
    return max(before, number)


def _number(write: Write, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MergeError(_sentence(write, value, "a number"))
    return value


def _object(write: Write, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MergeError(_sentence(write, value, "an object"))
    return value


def _list(write: Write, current: Any) -> list[Any]:
    if current is not None and not isinstance(current, list):
        raise MergeError(_sentence(write, current, "a list"))
    return current or []


def _sentence(write: Write, value: Any, wanted: str) -> str:
    return (
        f'The state\'s key "{write.key}" is merged by {write.merge}, and {value!r:.60} is not '
        f"{wanted}: write {wanted}, or declare another merge."
    )
