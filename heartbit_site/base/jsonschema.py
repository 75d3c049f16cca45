"""JSON Schema: check a schema once, then values against it, with sentences a model can act on.

Usage::

    check_schema(schema)                       # ConfigurationError when it cannot be used
    problems = validate(schema, arguments)     # [] or ["tasks[0].agent: 'x' is not one of a, b"]

Built on ``jsonschema-rs`` (0.60): compiled, without recursion in Python, regular expressions in
linear time (no look-around, no back-references), nothing is ever fetched: only a ``$ref`` within
the schema, or to the JSON Schema drafts themselves, resolves.

Work is estimated beforehand, so that a hostile schema or value, such as a remote server's, cannot
stop the event loop. Each part of a schema may meet each part of a value (a long ``enum`` for each
item of a long array), errors hold copies of both (measured: gigabytes), and patterns take up to a
megabyte each when they are compiled.

Alternatives that repeat (``anyOf`` of ``anyOf``, or a recursion through several branches) make
validation exponential, and collecting its errors about a thousand times more expensive (measured:
2**18 branches take 2 ms to validate and 8.5 s to explain). So the branches are counted beforehand:
if there are too many to explain, the error is one general sentence; if there are too many to
validate, the value is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.schema_references import (
    EVERY_BELOW,
    ONE_BELOW,
    SAME_VALUE,
    parts_of,
    referenced,
    subschemas,
)

MAX_SCHEMA_BYTES = 262_144
MAX_PROBLEMS = 8
_SHOWN_CHARACTERS = 80
_SHOWN_CHOICES = 20
_REGEX_BYTES = 1 << 20  # compiled size of one pattern
_ALL_REGEX_BYTES = 8 << 20  # of all patterns of a schema, in equal parts
_MOST_PATTERNS = 200
_PHRASES = {
    "const": "must be {}",
    "enum": "is not one of {}",
    "exclusiveMaximum": "is not below {}",
    "exclusiveMinimum": "is not above {}",
    "format": "is not a valid {}",
    "maxItems": "has more than {} items",
    "maxLength": "is longer than {} characters",
    "maximum": "is more than {}",
    "minItems": "has fewer than {} items",
    "minLength": "is shorter than {} characters",
    "minimum": "is less than {}",
    "multipleOf": "is not a multiple of {}",
    "pattern": "does not match the pattern {}",
    "type": "is not of type {}",
}


_EXPLAINED_BRANCHES = 5_000  # about 50 ms of errors
_JUDGED_BRANCHES = 2_000_000  # about 20 ms
_JUDGED_MEETINGS = 4_000_000  # of parts of a schema with parts of a value: at most 0.5 s
_COPIED_CHARACTERS = 50_000_000  # into errors
_UNCOUNTABLE = 10**12


@dataclass(frozen=True, slots=True)
class _Compiled:
    validator: jsonschema_rs.Validator
    branches: Branches
    parts: int  # JSON values in the schema
    characters: int  # of the schema


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that cannot be used, before anything depends on it.

    Raises:
        ConfigurationError: It is not JSON, too large, not valid JSON Schema, refers to something
            outside itself, or has a pattern that cannot run in linear time.
    """
    try:
        text = _canonical(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The JSON Schema is not plain JSON: {error}.") from error
    if len(text) > MAX_SCHEMA_BYTES:
        raise ConfigurationError(
            f"The JSON Schema is too large: {len(text)} characters, at most {MAX_SCHEMA_BYTES}."
        )
    _compiled(text)


def validate(schema: Mapping[str, Any], value: object) -> list[str]:
    """Return the problems of a value, one sentence a place; empty when it is valid.

    Args:
        schema: Checked earlier with ``check_schema``. Compiled validators are kept (at most 512)
            by the schema's text, so equal schemas share one and a changed one is noticed.
        value: A JSON value, as ``parse_untrusted_json`` returns it.

    Returns:
        At most ``MAX_PROBLEMS`` sentences, each starting with the path of the offending value.

    Raises:
        ConfigurationError: As ``check_schema``.
    """
    compiled = _compiled(_canonical(schema))
    size = _size_of(value)
    branches = compiled.branches.count(size.depth)
    if branches > _JUDGED_BRANCHES:
        return ["the value is nested too deeply to be checked: send a flatter one"]
    if not _is_judged(compiled, size):
        return ["the value is too long to be checked: send it in parts"]
    validator = compiled.validator
    if validator.is_valid(value):
        return []
    copied = branches * (compiled.characters + size.characters)
    if branches > _EXPLAINED_BRANCHES or copied > _COPIED_CHARACTERS:
        return ["the value does not fit the schema, which has too many alternatives to say why"]
    if branches * size.leaves > _EXPLAINED_BRANCHES or copied * size.leaves > _COPIED_CHARACTERS:
        return [_sentence(_first_error(validator, value), schema)]  # the others cost too much
    problems = [
        _sentence(error, schema) for error in islice(validator.iter_errors(value), MAX_PROBLEMS)
    ]
    return list(dict.fromkeys(problems))


def fits(schema: Mapping[str, Any], value: Any) -> bool | None:
    """Return True if a value is valid; None if that is too expensive to determine.

    Raises:
        ConfigurationError: As ``check_schema``.
    """
    compiled = _compiled(_canonical(schema))
    judged = _is_judged(compiled, _size_of(value))
    return bool(compiled.validator.is_valid(value)) if judged else None


def _is_judged(compiled: _Compiled, size: _Size) -> bool:
    """Return True if validating a value of this size is cheap."""
    branches = compiled.branches.count(size.depth)
    meetings = max(branches * size.leaves, compiled.parts * size.parts)
    return branches <= _JUDGED_BRANCHES and meetings <= _JUDGED_MEETINGS


def _first_error(validator: jsonschema_rs.Validator, value: Any) -> jsonschema_rs.ValidationError:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    raise AssertionError("a value that is not valid has an error")


def _canonical(schema: Mapping[str, Any]) -> str:
    return json.dumps(dict(schema), sort_keys=True, separators=(",", ":"), allow_nan=False)


@lru_cache(maxsize=512)
def _compiled(text: str) -> _Compiled:
    schema = json.loads(text)
    patterns = sum(map(_patterns_of, subschemas(schema)))
    if patterns > _MOST_PATTERNS:
        raise ConfigurationError(
            f"The JSON Schema has {patterns} regular expressions: at most {_MOST_PATTERNS} are "
            "accepted."
        )
    most = min(_REGEX_BYTES, _ALL_REGEX_BYTES // max(1, patterns))
    try:
        validator = jsonschema_rs.validator_for(
            text,
            offline=True,
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=most, dfa_size_limit=most),
        )
    except jsonschema_rs.ValidationError as error:
        where = _path(error.instance_path)
        place = f" at {where}" if where else ""
        raise ConfigurationError(f"The JSON Schema is not valid{place}: {error.message}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise ConfigurationError(f"The JSON Schema cannot be used: {error}") from None
    return _Compiled(validator, Branches(schema), _size_of(schema).parts, len(text))


def _patterns_of(schema: Mapping[str, Any]) -> int:
    named = schema.get("patternProperties")
    return isinstance(schema.get("pattern"), str) + (len(named) if isinstance(named, dict) else 0)


@dataclass(frozen=True, slots=True)
class _Size:
    """Size of a JSON value.

    Attributes:
        depth: Nested levels; 1 for a text or an empty object.
        parts: Values in it, itself included, and names.
        leaves: Values in it that hold no others.
        characters: Characters of its texts and names.
    """

    depth: int
    parts: int
    leaves: int
    characters: int


def _size_of(value: object) -> _Size:
    depth, parts, leaves, characters = 0, 0, 0, 0
    level: list[object] = [value]
    while level:
        depth, parts = depth + 1, parts + len(level)
        characters += sum(len(part) for part in level if isinstance(part, str))
        below: list[object] = []
        for part in level:
            if isinstance(part, dict):
                below += part.values()
                parts += len(part)
                characters += sum(map(len, part))
            elif isinstance(part, list):
                below += part
        leaves += sum(not part or not isinstance(part, dict | list) for part in level)
        level = below
    return _Size(depth, parts, leaves, characters)


def depth_of(value: object) -> int:
    """Return the number of nested levels of a JSON value; 1 for a text or an empty object."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth_of, items), default=0) if items else 1


class Branches:
    """Count of how often subschemas are applied along the deepest path of a value.

    Keywords that apply to the same value multiply (``anyOf``, ``$ref``); those that descend do so
    once a level, and only one property lies on a path. JSON Schema 2020-12, core, section 10.
    """

    _REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

    def __init__(self, schema: object) -> None:
        self._root = schema
        self._counts: dict[int, int] = {}

    def count(self, depth: int) -> int:
        """Return the applications for a value of this depth; huge when they cannot be counted."""
        if depth not in self._counts:
            try:
                self._counts[depth] = self._count(self._root, depth, {})
            except RecursionError:
                self._counts[depth] = _UNCOUNTABLE
        return self._counts[depth]

    def _count(self, node: object, depth: int, known: dict[tuple[int, int], int]) -> int:
        if not isinstance(node, dict):
            return 1
        key = (id(node), depth)
        if key not in known:
            known[key] = 1  # a reference to itself on the same value ends at once
            same = [part for name in SAME_VALUE for part in parts_of(node, name)]
            # Anchors and identifiers mean the whole schema.
            same += [
                referenced(str(node[name]), self._root) for name in self._REFERENCES if name in node
            ]
            total = 1 + sum(self._count(part, depth, known) for part in same)
            if depth > 0:
                total += self._below(node, depth - 1, known)
            known[key] = min(total, _UNCOUNTABLE)
        return known[key]

    def _below(self, node: dict[str, Any], depth: int, known: dict[tuple[int, int], int]) -> int:
        parts = [part for name in EVERY_BELOW for part in parts_of(node, name)]
        total = sum(self._count(part, depth, known) for part in parts)
        for name in ONE_BELOW:
            counts = (self._count(part, depth, known) for part in parts_of(node, name))
            total += max(counts, default=0)
        return total


def _sentence(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    """Return ``path: problem``, with long values cut: the sender knows them."""
    where = _path(error.instance_path)
    text = _message(error, schema)
    return f"{where}: {text}" if where else text


def _message(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    kind: Any = error.kind
    wanted = getattr(kind, "value", None)
    if kind.name in _PHRASES:
        return f"{_shown(error.instance)} {_PHRASES[kind.name].format(_wanted(wanted))}"
    match kind:
        case jsonschema_rs.ValidationErrorKind.Required():
            return f"{wanted!r} is required and missing"
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties():
            return f"{_wanted(wanted)} is not accepted here{_known_names(error, schema)}"
        case (
            jsonschema_rs.ValidationErrorKind.AnyOf()
            | jsonschema_rs.ValidationErrorKind.OneOfNotValid()
        ):
            alternatives = [_sentence(branch[0], schema) for branch in kind.context[:4] if branch]
            reasons = "; ".join(_cut(text, 160) for text in alternatives)
            return f"{_shown(error.instance)} matches none of the alternatives ({reasons})"
    return _cut(error.message, 300)


def _known_names(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    """Return the accepted names, as the remedy for a misspelt one."""
    place: Any = schema
    path: list[Any] = error.schema_path[:-1]
    for step in path:
        place = place[step]
    names = list(place.get("properties", ()))
    return f"; accepted are {_wanted(names)}" if names else ""


def _path(parts: list[str | int]) -> str:
    """Return ``['tasks', 0, 'agent']`` as ``tasks[0].agent``, cut because names are untrusted."""
    steps = (f"[{part}]" if isinstance(part, int) else f".{_cut(part)}" for part in parts[:12])
    return "".join(steps).removeprefix(".")


def _wanted(values: object) -> str:
    """Return the values that the schema accepts, as a list without quotes."""
    items = values if isinstance(values, list) else [values]
    texts = [_cut(item) if isinstance(item, str) else _shown(item) for item in items]
    more = len(texts) - _SHOWN_CHOICES
    return ", ".join(texts[:_SHOWN_CHOICES]) + (f" and {more} more" if more > 0 else "")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(_cut(value))
    if isinstance(value, (dict, list)):
        return "the object" if isinstance(value, dict) else "the array"
    return _cut(json.dumps(value))


def _cut(text: str, limit: int = _SHOWN_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."
