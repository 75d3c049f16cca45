"""Tables of Markdown, and the words for a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Words for formats; the schema's own word for others.
_FORMATS: Final = {"date-time": "time", "uuid": "id", "uri": "URL"}
#: Bounds of numbers, texts and lists: the lowest, the highest, and their unit.
_BOUNDS: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
)


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table; ``head`` has the names of its columns, separated by commas."""
    columns = head.split(", ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines) + "\n"


def cell(text: str) -> str:
    """Return a text as a cell: one line, without what would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def text_of(value: Any) -> str:
    """Return a default as a table shows it."""
    return "" if value in (None, "", [], {}, ()) else f"`{json.dumps(value, default=str)}`"


def properties(schema: Mapping[str, Any], page: str = "") -> str:
    """Return the table of an object's fields.

    Args:
        schema: A JSON Schema of an object, whose references have an anchor each.
        page: The page with those anchors; empty: the same.
    """
    required = schema.get("required", ())
    rows = (
        [
            f"`{name}`",
            type_of(field, page),
            "required" if name in required else text_of(field.get("default")),
            field.get("description", ""),
        ]
        for name, field in schema.get("properties", {}).items()
    )
    return table("field, type, default, meaning", rows)


def type_of(schema: Mapping[str, Any], page: str = "") -> str:
    """Return the words for a type, with links to objects."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return f"[{name}]({page}#{name.lower()})"
        case {"anyOf": list(kinds)} | {"oneOf": list(kinds)} | {"allOf": list(kinds)}:
            return " or ".join(dict.fromkeys(type_of(kind, page) for kind in kinds))
        case {"enum": list(values)}:
            return ", ".join(f"`{value}`" if value != "" else "empty" for value in values)
        case {"const": value}:
            return f"`{value}`"
        case {"type": "array", "items": dict(items)}:
            return f"list of {type_of(items, page)}{_bounds(schema)}"
        case {"type": "object", "additionalProperties": dict(values)} if values:
            return f"table of {type_of(values, page)}"
        case {"type": str(kind)}:
            named = _FORMATS.get(schema.get("format", ""), schema.get("format", kind))
            return f"{named}{_bounds(schema)}"
    return "any"


def _bounds(schema: Mapping[str, Any]) -> str:
    for low, high, unit in _BOUNDS:
        match schema.get(low), schema.get(high):
            case None, None:
                continue
            case least, None:
                return f" (at least {least:,}{unit})"
            case None, most:
                return f" (at most {most:,}{unit})"
            case least, most:
                return f" ({least:,} to {most:,}{unit})"
    return ""
