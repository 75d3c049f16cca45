"""Functions that expressions may call; all are pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agents.workflows.expressions.errors import OperationError
from agents.workflows.expressions.frame import MAX_ITEMS, MAX_UNITS, Frame, weigh
from agents.workflows.expressions.operations import bounded, entries, is_number, kind_of, less

_MAX_DIGITS: Final = 15
_MAX_NUMBER_TEXT: Final = 40
_NUMBERS: Final = (int, float)
_Function = Callable[..., Any]


def _checked(value: Any, accepted: type | tuple[type, ...], action: str, remedy: str = "") -> Any:
    """Return a value of the accepted types; of numbers, true and false are none."""
    if not isinstance(value, accepted) or (accepted == _NUMBERS and isinstance(value, bool)):
        raise OperationError(f"{action} {kind_of(value)}{remedy}")
    return value


def _text(value: Any, name: str) -> str:
    return str(_checked(value, str, f"applies {name}() to", ": give it a text"))


def _length(_: Frame, value: Any) -> int:
    return len(_checked(value, (str, list, tuple, Mapping), "takes the length of"))


def to_text(frame: Frame, value: Any) -> str:
    """Return a value as text: a text unchanged, null as an empty text, other values as JSON.

    Raises:
        OperationError: The value is too large or nested too deeply.
    """
    if value is None:
        return ""
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        frame.spend(weigh(value, MAX_UNITS))
        value = json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
    frame.spend_text(len(value))
    return str(value)


def _converted(convert: type[int] | type[float], name: str) -> _Function:
    def apply(_: Frame, value: Any) -> Any:
        if isinstance(value, str) and len(value) > _MAX_NUMBER_TEXT:
            raise OperationError("makes a number of a text that is too long")
        _checked(value, (str, *_NUMBERS), f"makes {name} of")
        try:
            return bounded(convert(value))
        except (ValueError, OverflowError):
            raise OperationError(f"makes {name} of a value that is not one") from None

    return apply


def _round(_: Frame, value: Any, digits: Any = 0) -> Any:
    _checked(value, _NUMBERS, "rounds")
    if not isinstance(digits, int) or not 0 <= digits <= _MAX_DIGITS:
        raise OperationError(f"rounds to digits that are not from 0 to {_MAX_DIGITS}")
    return round(value, digits) if digits else round(value)


def _absolute(_: Frame, value: Any) -> Any:
    return bounded(abs(_checked(value, _NUMBERS, "takes the absolute value of")))


def _extreme(name: str, is_better: Callable[[Frame, Any, Any], bool]) -> _Function:
    def find(frame: Frame, *values: Any) -> Any:
        found = entries(frame, values[0]) if len(values) == 1 else values
        if not found:
            raise OperationError(f"applies {name}() to an empty list")
        best = found[0]
        for value in found[1:]:
            best = value if is_better(frame, value, best) else best
        return best

    return find


def _sum(frame: Frame, values: Any) -> Any:
    if not all(map(is_number, numbers := entries(frame, values))):
        raise OperationError("applies sum() to a list that has more than numbers")
    return bounded(sum(numbers))


def _get(_: Frame, value: Any, key: Any, default: Any = None) -> Any:
    if value is None:
        return default
    if not isinstance(value, Mapping) or not isinstance(key, str):
        raise OperationError("applies get() to more than an object and a text")
    return value.get(key, default)


def _keys(frame: Frame, value: Any) -> list[str]:
    frame.spend_items(len(_checked(value, Mapping, "takes the keys of")))
    return sorted(value)


def _changed(name: str, change: Callable[[str], str]) -> _Function:
    def apply(frame: Frame, value: Any) -> str:
        frame.spend_text(4 * len(_text(value, name)))
        return change(value)

    return apply


def _compared(name: str, compare: Callable[[str, str], bool]) -> _Function:
    def apply(frame: Frame, value: Any, part: Any) -> bool:
        frame.spend_text(len(_text(part, name)))
        return compare(_text(value, name), part)

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
    parts = [to_text(frame, value) for value in entries(frame, values)]
    between = _text(separator, "join")
    frame.spend_text(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


#: Functions by name, with the least and the greatest number of arguments.
FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Any], int, int]]] = {
    "len": (_length, 1, 1),
    "str": (to_text, 1, 1),
    "int": (_converted(int, "a whole number"), 1, 1),
    "float": (_converted(float, "a number"), 1, 1),
    "bool": (lambda _, value: bool(value), 1, 1),
    "round": (_round, 1, 2),
    "abs": (_absolute, 1, 1),
    "min": (_extreme("min", less), 1, 20),
    "max": (_extreme("max", lambda frame, one, best: less(frame, best, one)), 1, 20),
    "sum": (_sum, 1, 1),
    "any": (lambda frame, values: any(entries(frame, values)), 1, 1),
    "all": (lambda frame, values: all(entries(frame, values)), 1, 1),
    "get": (_get, 2, 3),
    "keys": (_keys, 1, 1),
    "lower": (_changed("lower", str.lower), 1, 1),
    "upper": (_changed("upper", str.upper), 1, 1),
    "strip": (_changed("strip", str.strip), 1, 1),
    "split": (_split, 1, 2),
    "join": (_join, 1, 2),
    "starts_with": (_compared("starts_with", str.startswith), 2, 2),
    "ends_with": (_compared("ends_with", str.endswith), 2, 2),
}
