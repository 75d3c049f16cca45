"""Move of a JSON Schema below another one without breaking its references.

``#`` means the whole document, so it would change its meaning below another schema. Definitions are
moved to the top, where references to them stay valid; a schema that refers to other parts of itself
becomes a definition too, and those references are rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.base.schema_references import (
    BY_NAME,
    DEFINITIONS,
    EVERY_BELOW,
    ONE_BELOW,
    SAME_VALUE,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOP = ("$schema", *DEFINITIONS)
_SCHEMAS = {*SAME_VALUE, *EVERY_BELOW, *ONE_BELOW, *BY_NAME, "contentSchema"}


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
    top = _renamed(top, place)
    top["$defs"] = {name: _renamed(inner, place), **top.get("$defs", {})}
    return {"$ref": place}, top


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and every schema in it; values such as ``const`` or ``enum`` have none."""
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending += [inner for name in _SCHEMAS for inner in parts_of(part, name)]


def _is_own(reference: object) -> bool:
    """Return True if a reference means a part of the document other than a definition."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return False
    return not reference.startswith(tuple(f"#/{name}/" for name in DEFINITIONS))


def _renamed(part: Any, place: str) -> Any:
    """Return a schema with its own references rewritten to the new place."""
    if not isinstance(part, dict):
        return part
    result: dict[str, Any] = {}
    for name, value in part.items():
        if name == "$ref" and _is_own(value):
            result[name] = place + value[1:]
        elif name in BY_NAME and isinstance(value, dict):
            result[name] = {key: _renamed(inner, place) for key, inner in value.items()}
        elif name in _SCHEMAS and isinstance(value, list):
            result[name] = [_renamed(inner, place) for inner in value]
        else:
            result[name] = _renamed(value, place) if name in _SCHEMAS else value
    return result
