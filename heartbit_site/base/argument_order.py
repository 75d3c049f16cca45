"""Order of a call's arguments as its tool's schema declares them.

PostgreSQL keeps the names of a JSON object in an order of its own, so the order of the tool's
parameters is restored when a call is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from heartbit_site.base.schema_references import referenced

_MOST_HOPS: Final = 8  # references that lead to references; bounds a cycle of them


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
        if not isinstance(schema, Mapping):
            break
        reference = schema.get("$ref")
        kinds = schema.get("anyOf")
        if isinstance(reference, str) and reference.startswith("#/"):
            schema = referenced(reference, root)
        elif isinstance(kinds, list) and len(kinds) == 2 and {"type": "null"} in kinds:
            schema = kinds[1] if kinds[0] == {"type": "null"} else kinds[0]
        else:
            return schema
    return {}
