"""Functions that expressions may call; all are pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agents.workflows.expressions import operations
from agents.workflows.expressions.errors import OperationError
from agents.workflows.expressions.frame import MAX_ITEMS, Frame

_MAX_DIGITS: Final = 15
_MAX_NUMBER_TEXT: Final = 40
_MAX_DEPTH: Final = 100


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise OperationError(f"applies {name}() to {operations.kind_of(value)}: give it a text")
    return value


def _numbers(frame: Frame, values: Any, name: str) -> list[Any]:
    found = list(operations.entries(frame, values))
    if not all(map(operations.is_number, found)):
        raise OperationError(f"applies {name}() to a list that has more than numbers")
    return found


def _length(_: Frame, value: Any) -> int:
    if not isinstance(value, str | list | tuple | Mapping):
        raise OperationError(f"takes the length of {operations.kind_of(value)}")
    return len(value)


def to_text(frame: Frame, value: Any) -> str:
    """Return a value as text: a text unchanged, null as an empty text, other values as JSON.

    Raises:
        OperationError: The value is too large or nested too deeply.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        frame.spend_text(len(value))
        return value
    if type(value) is int:
        return str(value)
    written = json.dumps(_plain(frame, value, 0), ensure_ascii=False, sort_keys=True)
    frame.spend_text(len(written))
    return written


def _plain(frame: Frame, value: Any, depth: int) -> Any:
    """Return data without lazy mappings; its size is taken from the budget."""
    frame.spend(1)
    if depth > _MAX_DEPTH:
        raise OperationError("writes data that is nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): _plain(frame, value[key], depth + 1) for key in value}
    if isinstance(value, list | tuple):
        return [_plain(frame, entry, depth + 1) for entry in value]
    if isinstance(value, str):
        frame.spend_text(len(value))
    return value


def _to_integer(_: Frame, value: Any) -> int:
    if isinstance(value, str) and len(value) > _MAX_NUMBER_TEXT:
        raise OperationError("makes a number of a text that is too long")
    if not isinstance(value, str | int | float):
        raise OperationError(f"makes a whole number of {operations.kind_of(value)}")
    try:
        return int(operations.bounded(int(value)))
    except (ValueError, OverflowError):
        raise OperationError("makes a whole number of a value that is not one") from None


def _to_float(_: Frame, value: Any) -> float:
    if isinstance(value, str) and len(value) > _MAX_NUMBER_TEXT:
        raise OperationError("makes a number of a text that is too long")
    if not isinstance(value, str | int | float):
        raise OperationError(f"makes a number of {operations.kind_of(value)}")
    try:
        return operations.bounded(float(value))
    except (ValueError, OverflowError):
        raise OperationError("makes a number of a text that is not one") from None


def _to_bool(_: Frame, value: Any) -> bool:
    return bool(value)


def _round(_: Frame, value: Any, digits: Any = 0) -> Any:
    if not operations.is_number(value):
        raise OperationError(f"rounds {operations.kind_of(value)}")
    if not isinstance(digits, int) or not 0 <= digits <= _MAX_DIGITS:
        raise OperationError(f"rounds to digits that are not from 0 to {_MAX_DIGITS}")
    return round(value, digits) if digits else round(value)


def _absolute(_: Frame, value: Any) -> Any:
    if not operations.is_number(value):
        raise OperationError(f"takes the absolute value of {operations.kind_of(value)}")
    return operations.bounded(abs(value))


def _extreme(name: str, is_better: Callable[[Frame, Any, Any], bool]) -> Callable[..., Any]:
    def find(frame: Frame, *values: Any) -> Any:
        found = operations.entries(frame, values[0]) if len(values) == 1 else values
        if not found:
            raise OperationError(f"applies {name}() to an empty list")
        best = found[0]
        for value in found[1:]:
            if is_better(frame, value, best):
                best = value
        return best

    return find


def _sum(frame: Frame, values: Any) -> Any:
    return operations.bounded(sum(_numbers(frame, values, "sum")))


def _any(frame: Frame, values: Any) -> bool:
    return any(operations.entries(frame, values))


def _all(frame: Frame, values: Any) -> bool:
    return all(operations.entries(frame, values))


def _get(_: Frame, value: Any, key: Any, default: Any = None) -> Any:
    if value is None:
        return default
    if not isinstance(value, Mapping) or not isinstance(key, str):
        raise OperationError("applies get() to more than an object and a text")
    return value.get(key, default)


def _keys(frame: Frame, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        raise OperationError(f"takes the keys of {operations.kind_of(value)}")
    frame.spend_items(len(value))
    return sorted(value)


def _changed(name: str, change: Callable[[str], str]) -> Callable[..., Any]:
    def apply(frame: Frame, value: Any) -> str:
        frame.spend_text(4 * len(_text(value, name)))
        return change(value)

    return apply


def _split(frame: Frame, value: Any, separator: Any = None) -> list[str]:
    text = _text(value, "split")
    if separator is not None and not _text(separator, "split"):
        raise OperationError("splits a text at an empty text")
    frame.spend_text(len(text))
    parts = text.split(separator, MAX_ITEMS)
    frame.spend_items(len(parts))
    return parts


def _join(frame: Frame, values: Any, separator: Any = "") -> str:
    parts = [to_text(frame, value) for value in operations.entries(frame, values)]
    between = _text(separator, "join")
    frame.spend_text(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def _starts_with(frame: Frame, value: Any, start: Any) -> bool:
    beginning = _text(start, "starts_with")
    frame.spend(1 + len(beginning) // 256)
    return _text(value, "starts_with").startswith(beginning)


def _ends_with(frame: Frame, value: Any, end: Any) -> bool:
    ending = _text(end, "ends_with")
    frame.spend(1 + len(ending) // 256)
    return _text(value, "ends_with").endswith(ending)


#: Functions by name, with the least and the greatest number of arguments.
FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Any], int, int]]] = {
    "len": (_length, 1, 1),
    "str": (to_text, 1, 1),
    "int": (_to_integer, 1, 1),
    "float": (_to_float, 1, 1),
    "bool": (_to_bool, 1, 1),
    "round": (_round, 1, 2),
    "abs": (_absolute, 1, 1),
    "min": (_extreme("min", operations.less), 1, 20),
    "max": (_extreme("max", lambda frame, one, best: operations.less(frame, best, one)), 1, 20),
    "sum": (_sum, 1, 1),
    "any": (_any, 1, 1),
    "all": (_all, 1, 1),
    "get": (_get, 2, 3),
    "keys": (_keys, 1, 1),
    "lower": (_changed("lower", str.lower), 1, 1),
    "upper": (_changed("upper", str.upper), 1, 1),
    "strip": (_changed("strip", str.strip), 1, 1),
    "split": (_split, 1, 2),
    "join": (_join, 1, 2),
    "starts_with": (_starts_with, 2, 2),
    "ends_with": (_ends_with, 2, 2),
}
