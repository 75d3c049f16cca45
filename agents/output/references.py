"""Move of a JSON Schema below another one without breaking its references.

``#`` means the whole document, so it would change its meaning below another schema. Definitions are
moved to the top, where references to them stay valid; a schema that refers to other parts of itself
becomes a definition too, and those references are rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEFINITIONS = ("$defs", "definitions")
_TOP = ("$schema", *_DEFINITIONS)
_SCHEMAS = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_BY_NAME = (
    *("dependencies", "dependentSchemas", "patternProperties", "properties"),
    *_DEFINITIONS,
)


def moved(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema for its new place, and the top-level entries: draft and definitions."""
    inner = {name: value for name, value in schema.items() if name not in _TOP}
    top = {name: schema[name] for name in _TOP if name in schema}
    if not any(_is_own(part.get("$ref")) for part in subschemas(schema)):
        return inner, top
    name = "answer"
    while name in top.get("$defs", {}):
        name += "_"
    place = f"#/$defs/{name}"
    top = {key: _renamed_by_name(key, value, place) for key, value in top.items()}
    top["$defs"] = {name: _renamed(inner, place), **top.get("$defs", {})}
    return {"$ref": place}, top


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and every schema in it; values such as ``const`` or ``enum`` have none."""
    pending: list[object] = [schema]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        yield part
        pending += [part[name] for name in _SCHEMAS if name in part]
        for name in _LISTS:
            if isinstance(part.get(name), list):
                pending += part[name]
        for name in _BY_NAME:
            if isinstance(part.get(name), dict):
                pending += part[name].values()


def _is_own(reference: object) -> bool:
    """Return True if a reference means a part of the document other than a definition."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return False
    return not reference.startswith(tuple(f"#/{name}/" for name in _DEFINITIONS))


def _renamed(part: object, place: str) -> Any:
    """Return a schema with its own references rewritten to the new place."""
    if not isinstance(part, dict):
        return part
    result: dict[str, Any] = {}
    for name, value in part.items():
        if name == "$ref" and _is_own(value):
            result[name] = place + value[1:]
        elif name in _BY_NAME:
            result[name] = _renamed_by_name(name, value, place)
        elif name in _LISTS and isinstance(value, list):
            result[name] = [_renamed(item, place) for item in value]
        else:
            result[name] = _renamed(value, place) if name in _SCHEMAS else value
    return result


def _renamed_by_name(name: str, value: Any, place: str) -> Any:
    if name not in _BY_NAME or not isinstance(value, dict):
        return value
    return {key: _renamed(item, place) for key, item in value.items()}
