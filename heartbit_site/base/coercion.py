"""Conversion of values that models write to the types that a JSON Schema requires. Pure.

Models write ``"5"`` for a number, ``"[1]"`` for a list, and ``null`` for what they leave out. Call
it only for a value that is not valid, so that it cannot change a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from heartbit_site.base.schema_references import target_of
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,18})(?:\.\d{1,32})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_BOOLEANS: dict[str, JSONValue] = {"true": True, "false": False}
_NAMES: dict[type, str] = {str: "string", dict: "object", list: "array", type(None): "null"}
_ALTERNATIVES = ("anyOf", "oneOf")
_MAX_VISITS = 20_000  # pairs of schema and value: alternatives may recurse endlessly


def coerce(schema: Mapping[str, Any], value: JSONValue) -> JSONValue:
    """Return the value with the types that the schema requires.

    A string becomes the value that it represents, unless the schema accepts strings there or names
    no type. A null is removed from an object if the property is optional and accepts no null. The
    result may still not fit: the caller validates it. It equals the value if nothing was converted.
    """
    try:
        return _Coercion(schema).at(schema, value)
    except RecursionError:  # alternatives that refer to themselves
        return value


class _Coercion:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._visits = 0

    def at(self, schema: object, value: JSONValue) -> JSONValue:
        """Return the value converted for this part of the schema."""
        self._visits += 1
        schema = target_of(schema, self._root)
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
        targets = [target_of(schema, self._root) for schema in schemas]
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
        return {
            name: self.at(known.get(name, others), item)
            for name, item in value.items()
            if item is not None or not self._is_left_out(schema, known, name)
        }

    def _is_left_out(self, schema: dict[str, Any], known: Mapping[str, object], name: str) -> bool:
        """Return True if null for a property can only mean that it is left out."""
        if name not in known or name in schema.get("required", ()):
            return False
        return not self._takes_null(known[name])

    def _takes_null(self, schema: object) -> bool:
        """Return True if a schema accepts null."""
        self._visits += 1
        target = target_of(schema, self._root)
        if not isinstance(target, dict) or self._visits > _MAX_VISITS:
            return target is not False
        alternatives = [target[name] for name in _ALTERNATIVES if name in target]
        return (
            _may_take(target, None)
            and all(any(map(self._takes_null, one)) for one in alternatives)
            and all(map(self._takes_null, target.get("allOf", ())))
        )

    def _array(self, schema: dict[str, Any], value: list[JSONValue]) -> JSONValue:
        first = schema.get("prefixItems")
        places = first if isinstance(first, list) else []
        items = schema.get("items")
        return [
            self.at(places[index] if index < len(places) else items, item)
            for index, item in enumerate(value)
        ]


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
    # Values of other types are never replaced and contain nothing that is.
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
