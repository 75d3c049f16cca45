"""Merges of writes into the state of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.workflows.records import Write


class MergeError(Exception):
    """A value cannot be merged; ``str(error)`` is a sentence about it."""


def merged(write: Write, current: Any) -> Any:
    """Return the value of a key after a write; the current value is not changed.

    Args:
        write: The write.
        current: Value before it; None: the key had none.

    Raises:
        MergeError: The write does not fit the current value.
    """
    value = write.value
    match write.merge:
        case "set":
            return value
        case "append":
            return [*_list(write, current), value]
        case "merge":
            return {**_object(write, current or {}), **_object(write, value)}
        case "add":
            return _number(write, 0 if current is None else current) + _number(write, value)
        case "min" | "max" if current is None:
            return _number(write, value)
        case "min":
            return min(_number(write, current), _number(write, value))
        case "max":
            return max(_number(write, current), _number(write, value))


def _number(write: Write, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MergeError(_sentence(write, value, "a number"))
    return value


def _object(write: Write, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
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
