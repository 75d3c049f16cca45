"""Parts of a JSON Schema: schemas below a keyword, references, and the order of names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

#: Keywords of definitions, which apply to nothing where they stand.
DEFINITIONS = ("$defs", "definitions")
#: Keywords whose schemas apply to the same value.
SAME_VALUE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas")
#: Keywords whose schemas apply to values below.
EVERY_BELOW = (
    *("items", "additionalItems", "unevaluatedItems", "contains", "patternProperties"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
)
#: Keywords of which one schema applies to a value below.
ONE_BELOW = ("properties", "prefixItems")
#: Keywords with several schemas by name.
BY_NAME = ("dependencies", "dependentSchemas", "patternProperties", "properties", *DEFINITIONS)


#: All keywords with schemas.
SCHEMAS = frozenset({*SAME_VALUE, *EVERY_BELOW, *ONE_BELOW, *BY_NAME, "contentSchema"})
_MOST_DIGITS: Final = 9  # of an index
_MOST_HOPS: Final = 8  # references that lead to references; bounds a cycle of them


def parts_of(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    """Return the schemas under a keyword: one, a list of them, or several by name."""
    value = schema.get(keyword)
    if isinstance(value, list):
        return list(value)
    if isinstance(value, dict):
        return list(value.values()) if keyword in BY_NAME else [value]
    return []


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and every schema in it; values such as ``const`` or ``enum`` have none."""
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending += [inner for name in SCHEMAS for inner in parts_of(part, name)]


def referenced(reference: str, root: Any) -> Any:
    """Return the part of a schema behind a reference such as ``#/$defs/city``; None if missing.

    Args:
        reference: Only its fragment counts; an empty one means the whole schema.
        root: The whole schema.
    """
    part = root
    for escaped in reference.partition("#")[2].split("/")[1:]:
        step = unquote(escaped).replace("~1", "/").replace("~0", "~")
        if isinstance(part, list):
            is_index = step.isascii() and step.isdigit() and len(step) <= _MOST_DIGITS
            part = part[int(step)] if is_index and int(step) < len(part) else None
        else:
            part = part.get(step) if isinstance(part, dict) else None
    return part


def target_of(schema: Any, root: Any) -> Any:
    """Return the schema, or the one in this document that it refers to; None if missing."""
    for _ in range(_MOST_HOPS):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        schema = referenced(reference, root)
    return schema


def in_schema_order(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return arguments in the order of their JSON Schema; unknown names come last.

    Args:
        arguments: Stored arguments of a call.
        parameters: The tool's schema; None if unknown, which keeps the order.
    """
    root = parameters or {}
    return _ordered_object(arguments, _resolved(root, root), root)


def _ordered_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]
) -> dict[str, Any]:
    known = schema.get("properties")
    properties = known if isinstance(known, Mapping) else {}
    names = [name for name in properties if name in value]
    names += [name for name in value if name not in properties]
    return {name: _ordered(value[name], properties.get(name), root) for name in names}


def _ordered(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, Mapping):
        return _ordered_object(value, schema, root)
    if isinstance(value, list):
        return [_ordered(one, schema.get("items"), root) for one in value]
    return value


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema behind local references and beside null, as the pages' forms read it."""
    for _ in range(_MOST_HOPS):
        schema = target_of(schema, root)
        kinds = schema.get("anyOf") if isinstance(schema, Mapping) else None
        if not isinstance(kinds, list) or len(kinds) != 2 or {"type": "null"} not in kinds:
            return schema if isinstance(schema, Mapping) else {}
        schema = kinds[1] if kinds[0] == {"type": "null"} else kinds[0]
    return {}
