"""Clean-up of text and JSON from outside (models, tools, webhooks) for PostgreSQL. Pure.

Usage::

    value = parse_untrusted_json(body, max_bytes=1_000_000)  # UntrustedJSONError: one sentence
    row.text = clean_text(answer)
    row.payload = clean_json(payload)

``json.loads`` alone accepts values that ``jsonb`` refuses (NUL, lone surrogates, NaN) and raises
three different exceptions, one of which (``RecursionError``) is not a ``ValueError``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

from heartbit_site.base.errors import HeartbitError

JSONValue: TypeAlias = (
    "bool | int | float | str | list[JSONValue] | dict[str, JSONValue] | None"  # what json gives
)

MAX_JSON_BYTES = 1_000_000
MAX_JSON_DEPTH = 64
_MAX_INTEGER_DIGITS = 20  # of 2**64 - 1; ``int(text)`` is quadratic and capped, so length first
_INTEGER_BOUND = 2**64

_MARK = re.compile(r'\\.|["\[\]{}]', re.DOTALL)  # characters that open, close or escape
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UntrustedJSONError(HeartbitError):
    """The text is not JSON that Heartbit accepts; the message is one sentence saying why."""


class MalformedJSONError(UntrustedJSONError):
    """The text is not JSON at all."""


def parse_untrusted_json(source: str | bytes, *, max_bytes: int = MAX_JSON_BYTES) -> JSONValue:
    """Parse JSON from an untrusted source.

    NUL and lone surrogates, raw or escaped, become U+FFFD; bytes that are not UTF-8 too.

    Args:
        source: JSON text, or its UTF-8 bytes (a byte order mark is ignored).
        max_bytes: Refuse more UTF-8 bytes than this.

    Raises:
        MalformedJSONError: Not JSON.
        UntrustedJSONError: Too large, deeper than ``MAX_JSON_DEPTH``, a name given twice in one
            object, NaN or Infinity, or a whole number beyond 64 bits.
    """
    text = _decoded(source, max_bytes)
    _check_depth(text)
    # An escape may encode what a raw scan cannot see; clean text without escapes needs no clean-up.
    dirty = "\\u" in text or not _is_storable(text)
    try:
        value: JSONValue = json.loads(
            text,
            object_pairs_hook=_unique_clean if dirty else _unique,
            parse_int=_bounded_integer,
            parse_float=_finite_number,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise MalformedJSONError(
            f"The JSON is malformed at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    return clean_json(value) if dirty else value


def clean_text(text: str) -> str:
    """Replace everything that a Postgres ``text`` or ``jsonb`` value refuses with U+FFFD.

    That is NUL and lone surrogates; a surrogate pair in two halves is joined into its character.
    """
    if _is_storable(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")


def clean_json(value: object) -> JSONValue:
    """Return a copy of a JSON value that ``jsonb`` accepts: clean text, NaN and Infinity as null.

    Mappings become objects and lists or tuples arrays. When two names of an object become equal
    by cleaning, the later one wins.

    Raises:
        UntrustedJSONError: A part is not a JSON value, is nested deeper than ``MAX_JSON_DEPTH``, or
            is a whole number beyond 64 bits.
    """
    return _clean(value, depth=MAX_JSON_DEPTH)


def _is_storable(text: str) -> bool:
    if text.isascii():  # known without looking at the characters; most text ends here
        return "\x00" not in text
    return _UNSTORABLE.search(text) is None


def _decoded(source: str | bytes, max_bytes: int) -> str:
    """Return the text within the byte limit, without a byte order mark."""
    size = len(source)
    if isinstance(source, str) and size <= max_bytes:
        size = len(source.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise UntrustedJSONError(f"The JSON is too large: {size} bytes, at most {max_bytes}.")
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


def _check_depth(text: str) -> None:
    """Refuse nesting that would exhaust the recursive parser; linear, and mostly two counts."""
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return
    depth = 0
    in_string = False
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif mark in "[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise UntrustedJSONError(
                    f"The JSON is nested too deeply: at most {MAX_JSON_DEPTH} levels are accepted."
                )
        elif mark in "]}":
            depth -= 1


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose names are all different.

    Duplicate names enable attacks: one reader checks the first, another acts on the last.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UntrustedJSONError(
                f"The JSON object names {clean_text(name)[:80]!r} more than once: "
                "give it one value."
            )
        found[name] = value
    return found


def _unique_clean(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Clean the names, then apply ``_unique``, so that no two names become one later."""
    return _unique((clean_text(name), value) for name, value in pairs)


def _bounded_integer(text: str) -> int:
    if len(text) <= _MAX_INTEGER_DIGITS + 1:
        number = int(text)
        if -_INTEGER_BOUND < number < _INTEGER_BOUND:
            return number
    raise UntrustedJSONError(
        f"The JSON has a whole number beyond 64 bits ({text[:24]}...): send it as a string."
    )


def _finite_number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UntrustedJSONError(
            f"The JSON has a number too large for a float ({text[:24]}): send it as a string."
        )
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise UntrustedJSONError(f"The JSON contains {name}, which JSON does not have: use null.")


def _clean(value: object, *, depth: int) -> JSONValue:
    match value:
        case str():
            return clean_text(value)
        case None | bool():
            return value
        case float():
            return value if math.isfinite(value) else None
        case int() if -_INTEGER_BOUND < value < _INTEGER_BOUND:
            return value
        case int():
            raise UntrustedJSONError(
                "The value has a whole number beyond 64 bits: keep it as a string."
            )
        case list() | tuple() | Mapping() if depth == 0:
            raise UntrustedJSONError("The value is nested too deeply to be kept as JSON.")
        case list() | tuple():
            return [_clean(item, depth=depth - 1) for item in value]
        case Mapping():
            return {_name(name): _clean(item, depth=depth - 1) for name, item in value.items()}
    raise UntrustedJSONError(f"A {type(value).__name__} is not a JSON value.")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise UntrustedJSONError(f"A JSON object's name must be text, not {type(name).__name__}.")
    return clean_text(name)
