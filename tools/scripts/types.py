"""JSON Schemas as Python types, as far as these can express them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from heartbit_site.base.schema_references import target_of

_PLAIN: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
_DEPTH: Final = 4  # of objects in objects
_MOST_CHOICES: Final = 20


def python_type(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return the annotation of a value that fits a schema; ``Any`` if there is no better one.

    Args:
        schema: The value's schema.
        root: The schema it stands in, where its references point to.
        depth: Number of schemas around it.
    """
    schema = target_of(schema, root)
    if not isinstance(schema, dict) or depth > _DEPTH:
        return "Any"
    if choices := _choices(schema):
        return f"Literal[{', '.join(map(repr, choices))}]"
    several = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(several, list):
        return _union(python_type(one, root, depth + 1) for one in several)
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(python_type({**schema, "type": one}, root, depth) for one in kind)
    if kind == "array":
        return f"list[{python_type(schema.get('items'), root, depth + 1)}]"
    if kind == "object":
        values = None if "properties" in schema else schema.get("additionalProperties")
        return f"dict[str, {python_type(values, root, depth + 1)}]"
    return _PLAIN.get(str(kind), "Any")


def shape(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return what a value's annotation omits: the keys of its objects, or an empty string."""
    schema = target_of(schema, root)
    if not isinstance(schema, dict) or depth > _DEPTH:
        return ""
    if isinstance(schema.get("properties"), dict) and schema["properties"]:
        required = schema.get("required", ())
        keys = (
            f"{name!r}{'' if name in required else '?'}: "
            f"{shape(one, root, depth + 1) or python_type(one, root, depth + 1)}"
            for name, one in schema["properties"].items()
        )
        return f"{{{', '.join(keys)}}}"
    if schema.get("type") == "array":
        inner = shape(schema.get("items"), root, depth + 1)
        return f"[{inner}]" if inner else ""
    several = schema.get("anyOf") or schema.get("oneOf") or ()
    shapes = (shape(one, root, depth + 1) for one in several)
    return " | ".join(dict.fromkeys(one for one in shapes if one))


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(choices, list) or len(choices) > _MOST_CHOICES:
        return []
    fit = all(choice is None or isinstance(choice, (str, int, bool)) for choice in choices)
    return choices if fit else []


def _union(kinds: Any) -> str:
    found = list(dict.fromkeys(kinds))
    return "Any" if "Any" in found or not found else " | ".join(found)
