"""Parts of a JSON Schema: the schemas below a keyword, and references (JSON Pointers). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
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
        if isinstance(part, list) and step.isdigit() and int(step) < len(part):
            part = part[int(step)]
        else:
            part = part.get(step) if isinstance(part, dict) else None
    return part
