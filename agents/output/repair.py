"""Candidate values for an answer that does not fit its schema because of a common mistake.

``agents.output.check`` uses the first candidate that fits, and only if the plain value does not; so
a repair can never change a correct answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agents.output.fences import fenced
from agents.output.respond import NAME, VALUE
from heartbit_site.base.schema_references import referenced
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WRAPPERS = (VALUE, "arguments", NAME)
_MAX_STEPS = 4  # a fence in a string in a wrapper
_DOCUMENT = re.compile(r'\s*(?:[\[{"]|```|~~~)')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,18})(?:\.\d{1,32})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_BOOLEANS: dict[str, JSONValue] = {"true": True, "false": False}
_NAMES: dict[type, str] = {str: "string", dict: "object", list: "array"}
_ALTERNATIVES = ("anyOf", "oneOf")
_MAX_VISITS = 20_000  # pairs of schema and value: alternatives may recurse endlessly


def candidate_values(
    schema: Mapping[str, Any], plain: JSONValue, *, is_wrapped: bool
) -> Iterator[JSONValue]:
    """Yield other interpretations of an answer, the most literal first.

    Args:
        schema: Schema of the answer; decides which strings represent other types.
        plain: Answer as parsed.
        is_wrapped: True if the actual answer is in the property ``value``.
    """
    values = [plain]
    for _ in range(_MAX_STEPS):
        values += _inside(values[-1])
    yield from values
    yield from (coerced(schema, value) for value in values)
    if is_wrapped:
        bare: list[JSONValue] = [{VALUE: value} for value in values]
        yield from bare
        yield from (coerced(schema, value) for value in bare)


def document(text: str) -> JSONValue:
    """Return the JSON document in a text or in its only fenced block; empty text means {}.

    Raises:
        UntrustedJSONError: The text contains no such document.
    """
    if not text or text.isspace():
        return {}
    try:
        return parse_untrusted_json(text)
    except UntrustedJSONError:
        blocks = fenced(text)
        if len(blocks) != 1:
            raise
        return parse_untrusted_json(blocks[0].content)


def _inside(value: JSONValue) -> list[JSONValue]:
    """Return the value that a wrapper contains, as a list; empty if it is not a wrapper."""
    if isinstance(value, str) and _DOCUMENT.match(value):
        try:
            return [document(value)]
        except UntrustedJSONError:
            return []
    if not isinstance(value, dict):
        return []
    if len(value) == 1:
        return [value[name] for name in _WRAPPERS if name in value]
    if value.keys() == {"name", "arguments"} and value["name"] == NAME:
        return [value["arguments"]]
    return []


def coerced(schema: Mapping[str, Any], value: JSONValue) -> JSONValue:
    """Return the value with strings replaced by the types that the schema requires.

    A string stays where the schema also accepts strings, or names no type. The result may still not
    fit: the caller validates it. It equals the value if nothing was converted.
    """
    return _Coercion(schema).at(schema, value)


class _Coercion:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._visits = 0

    def at(self, schema: object, value: JSONValue) -> JSONValue:
        """Return the value converted for this part of the schema."""
        self._visits += 1
        schema = self._target(schema)
        if not isinstance(schema, dict) or self._visits > _MAX_VISITS:
            return value
        if isinstance(value, str) and "type" in schema:
            value = _meant(_types(schema), value)
        for name in _ALTERNATIVES:
            if isinstance(schema.get(name), list):
                value = self._by_alternative(schema[name], value)
        for part in schema.get("allOf", ()):
            value = self.at(part, value)
        if isinstance(value, dict):
            return self._object(schema, value)
        return self._array(schema, value) if isinstance(value, list) else value

    def _by_alternative(self, schemas: list[object], value: JSONValue) -> JSONValue:
        """Return the value converted for one alternative, unchanged if one accepts it."""
        targets = [self._target(schema) for schema in schemas]
        found = [self.at(target, value) for target in targets]
        if any(
            result == value and _may_take(target, value)
            for target, result in zip(targets, found, strict=True)
        ):
            return value
        return next((result for result in found if result != value), value)

    def _object(self, schema: dict[str, Any], value: dict[str, JSONValue]) -> JSONValue:
        named = schema.get("properties")
        known = named if isinstance(named, dict) else {}
        others = schema.get("additionalProperties")
        return {name: self.at(known.get(name, others), item) for name, item in value.items()}

    def _array(self, schema: dict[str, Any], value: list[JSONValue]) -> JSONValue:
        first = schema.get("prefixItems")
        places = first if isinstance(first, list) else []
        items = schema.get("items")
        return [
            self.at(places[index] if index < len(places) else items, item)
            for index, item in enumerate(value)
        ]

    def _target(self, schema: object) -> object:
        """Return the schema, or the schema in this document that it refers to."""
        for _ in range(8):
            reference = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(reference, str) or not reference.startswith("#"):
                break
            schema = referenced(reference, self._root)
        return schema


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    named = schema["type"]
    return tuple(named) if isinstance(named, list) else (str(named),)


def _may_take(schema: object, value: JSONValue) -> bool:
    """Return True if a schema accepts values of this type, judging by its own keywords."""
    if not isinstance(schema, dict):
        return schema is not False
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        return value in choices
    # Other types than these three neither are nor contain strings, and so are never replaced.
    return "type" not in schema or _NAMES.get(type(value), "") in _types(schema)


def _meant(types: tuple[str, ...], text: str) -> JSONValue:
    """Return the value that a string represents among these types, else the string."""
    if "string" in types:
        return text
    stripped = text.strip()
    if "boolean" in types and stripped.lower() in _BOOLEANS:
        return _BOOLEANS[stripped.lower()]
    if {"integer", "number"} & set(types) and _NUMBER.fullmatch(stripped):
        return _parsed(stripped, text)
    opening = stripped[:1]
    if ("array" in types and opening == "[") or ("object" in types and opening == "{"):
        return _parsed(stripped, text)
    return text


def _parsed(source: str, otherwise: str) -> JSONValue:
    try:
        return parse_untrusted_json(source)
    except UntrustedJSONError:
        return otherwise
