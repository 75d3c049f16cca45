"""Operations on data: arithmetic, comparison and access, bounded in their work and results.

Data is what JSON can represent: None, booleans, numbers, texts, lists, and mappings with texts as
keys. No operation reads an attribute of a Python object.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from agents.workflows.expressions.errors import OperationError, cut
from agents.workflows.expressions.frame import MAX_DEPTH, MAX_INTEGER, Frame

_SHOWN_KEYS: Final = 8
_KINDS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    *((type(None), "null"), (bool, "true or false"), ((int, float), "a number")),
    *((str, "a text"), ((list, tuple), "a list")),
)
#: Types of values whose comparison with any other one is no work.
_SCALARS: Final = frozenset({int, float, bool, type(None)})


def kind_of(value: Any) -> str:
    """Return the kind of a value with its article, for sentences."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "an object")


def is_number(value: Any) -> bool:
    """Return True if a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def bounded(number: float) -> float:
    """Return a number that JSON and the database can represent.

    Raises:
        OperationError: The number is infinite, undefined or too large.
    """
    if isinstance(number, int):
        if not -MAX_INTEGER <= number < MAX_INTEGER:
            raise OperationError("makes a whole number of more than 64 bits")
    elif not math.isfinite(number):
        raise OperationError("makes a number that is infinite or undefined")
    return number


def read_key(value: Any, key: str) -> Any:
    """Return the entry of an object by its key.

    Raises:
        OperationError: The value is no object, or has no such key.
    """
    if isinstance(value, Mapping):
        try:
            return value[key]
        except KeyError:
            keys = ", ".join(map(cut, sorted(map(str, value))[:_SHOWN_KEYS])) or "none"
            raise OperationError(f'finds no "{cut(key)}": its keys are {keys}') from None
    raise OperationError(f'reads "{cut(key)}" of {kind_of(value)}, which has no keys')


def read_item(value: Any, index: Any) -> Any:
    """Return an entry of an object, a list or a text.

    Raises:
        OperationError: There is no such entry, or the value has no entries.
    """
    if isinstance(index, str):
        return read_key(value, index)
    _check_index(index)
    if not isinstance(value, list | tuple | str):
        raise OperationError(f"reads entry {index} of {kind_of(value)}")
    try:
        return value[index]
    except IndexError:
        raise OperationError(f"reads entry {index} of {len(value)}") from None


def _check_index(index: Any) -> None:
    if not isinstance(index, int) or isinstance(index, bool):
        raise OperationError(f"takes {kind_of(index)} as an index")


def read_slice(frame: Frame, value: Any, start: Any, stop: Any) -> Any:
    """Return a part of a list or a text.

    Raises:
        OperationError: The value has no parts, or a bound is no whole number.
    """
    if not isinstance(value, list | tuple | str):
        raise OperationError(f"takes a part of {kind_of(value)}")
    for bound in (start, stop):
        _check_index(0 if bound is None else bound)
    part = value[start:stop]
    if isinstance(part, str):
        frame.spend_text(len(part))
        return part
    frame.spend_items(len(part))
    return list(part)


def add(frame: Frame, left: Any, right: Any) -> Any:
    """Return the sum of two numbers, or two texts or lists joined."""
    if isinstance(left, str) and isinstance(right, str):
        frame.spend_text(len(left) + len(right))
        return left + right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        frame.spend_items(len(left) + len(right))
        return [*left, *right]
    return _plus(frame, left, right)


def arithmetic(sign: str, operate: Callable[[Any, Any], Any]) -> Callable[[Frame, Any, Any], Any]:
    """Return an operation on two numbers; a text or a list is not repeated or formatted."""

    def calculate(_: Frame, left: Any, right: Any) -> Any:
        if not (is_number(left) and is_number(right)):
            raise OperationError(f"applies {sign} to {kind_of(left)} and {kind_of(right)}")
        try:
            return bounded(operate(left, right))
        except ZeroDivisionError:
            raise OperationError("divides by zero") from None
        except OverflowError:
            raise OperationError("makes a number that is too large") from None

    return calculate


_plus: Final = arithmetic("+", operator.add)


def equal(frame: Frame, left: Any, right: Any, depth: int = 0) -> bool:
    """Return True if two values are equal."""
    if type(left) in _SCALARS or type(right) in _SCALARS:
        return bool(left == right)
    if isinstance(left, str) and isinstance(right, str):
        frame.spend_text(min(len(left), len(right)))
        return left == right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(
            equal(frame, *pair, _deeper(frame, depth)) for pair in zip(left, right, strict=True)
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return len(left) == len(right) and all(
            key in right and equal(frame, left[key], right[key], _deeper(frame, depth))
            for key in left
        )
    return False  # values of two kinds


def _deeper(frame: Frame, depth: int) -> int:
    frame.spend(3)
    if depth > MAX_DEPTH:
        raise OperationError("compares data that is nested too deeply")
    return depth + 1


def less(frame: Frame, left: Any, right: Any, sign: str = "<") -> bool:
    """Return True if a number is smaller, or a text comes first.

    Raises:
        OperationError: The values are not two numbers or two texts.
    """
    if isinstance(left, str) and isinstance(right, str):
        frame.spend_text(min(len(left), len(right)))
        return left < right
    if is_number(left) and is_number(right):
        return bool(left < right)
    raise OperationError(f"compares {kind_of(left)} and {kind_of(right)} by {sign}")


def contains(frame: Frame, value: Any, container: Any) -> bool:
    """Return True if a value is an entry of a list, a key of an object or a part of a text.

    Raises:
        OperationError: The container has no entries, or not of this kind.
    """
    if isinstance(container, list | tuple):
        for entry in container:
            frame.spend(1)
            if equal(frame, value, entry):
                return True
        return False
    if isinstance(value, str) and isinstance(container, Mapping):
        return value in container
    if isinstance(value, str) and isinstance(container, str):
        frame.spend_text(len(value) + len(container))
        return value in container
    raise OperationError(f"looks for {kind_of(value)} in {kind_of(container)}")


def entries(frame: Frame, value: Any) -> list[Any] | tuple[Any, ...]:
    """Return the entries of a list.

    Raises:
        OperationError: The value is no list, or a list that is too long.
    """
    if not isinstance(value, list | tuple):
        raise OperationError(f"needs a list, not {kind_of(value)}")
    frame.spend_items(len(value))
    return value
