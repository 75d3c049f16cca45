"""JSON Schema: check a schema once, then values against it, with sentences a model can act on.

Usage::

    check_schema(schema)                       # ConfigurationError when it cannot be used
    problems = validate(schema, arguments)     # [] or ["tasks[0].agent: 'x' is not one of a, b"]

Built on ``jsonschema-rs`` (0.60): compiled, without recursion in Python, regular expressions in
linear time (no look-around, no back-references), nothing is ever fetched: only a ``$ref`` within
the schema, or to the JSON Schema drafts themselves, resolves.

Alternatives that repeat (``anyOf`` of ``anyOf``, or a recursion through several branches) make
validation exponential, and collecting its errors about a thousand times dearer than that (measured:
2**18 branches take 2 ms to judge and 8.5 s to explain). So the branches are counted beforehand; too
many to explain get one general sentence, too many to judge are refused. A hostile schema, such as
a remote server's, cannot stop the event loop.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.schema_references import (
    EVERY_BELOW,
    ONE_BELOW,
    SAME_VALUE,
    parts_of,
    referenced,
)
from heartbit_site.base.untrusted import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SCHEMA_BYTES = 262_144
MAX_PROBLEMS = 8
_SHOWN_CHARACTERS = 80
_SHOWN_CHOICES = 20
_REGEX_BYTES = 1 << 20  # compiled size of one pattern
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
_UNCOUNTABLE = 10**12


@dataclass(frozen=True, slots=True)
class _Compiled:
    validator: jsonschema_rs.Validator
    branches: Branches
    most_branches: int  # for a value as deep as values may be


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
    branches = _branches(compiled, value)
    if branches > _JUDGED_BRANCHES:
        return ["the value is nested too deeply to be checked: send a flatter one"]
    validator = compiled.validator
    if validator.is_valid(value):
        return []
    if branches > _EXPLAINED_BRANCHES:
        return ["the value does not fit the schema, which has too many alternatives to say why"]
    problems = [
        _sentence(error, schema) for error in islice(validator.iter_errors(value), MAX_PROBLEMS)
    ]
    return list(dict.fromkeys(problems))


def fits(schema: Mapping[str, Any], value: Any) -> bool | None:
    """Return True if a value is valid; None when that is too expensive to find out.

    Raises:
        ConfigurationError: As ``check_schema``.
    """
    compiled = _compiled(_canonical(schema))
    branches = _branches(compiled, value)
    return None if branches > _JUDGED_BRANCHES else bool(compiled.validator.is_valid(value))


def _branches(compiled: _Compiled, value: Any) -> int:
    most = compiled.most_branches
    return compiled.branches.count(depth_of(value)) if most > _EXPLAINED_BRANCHES else most


def _canonical(schema: Mapping[str, Any]) -> str:
    return json.dumps(dict(schema), sort_keys=True, separators=(",", ":"), allow_nan=False)


@lru_cache(maxsize=512)
def _compiled(text: str) -> _Compiled:
    try:
        validator = jsonschema_rs.validator_for(
            text,
            offline=True,
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(
                size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
            ),
        )
    except jsonschema_rs.ValidationError as error:
        where = _path(error.instance_path)
        place = f" at {where}" if where else ""
        raise ConfigurationError(f"The JSON Schema is not valid{place}: {error.message}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise ConfigurationError(f"The JSON Schema cannot be used: {error}") from None
    branches = Branches(json.loads(text))
    return _Compiled(validator, branches, branches.count(MAX_JSON_DEPTH))


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
            return f"{_shown(error.instance)} fits none of the alternatives ({reasons})"
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
