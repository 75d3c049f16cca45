"""Order of a call's arguments for people: that of the tool's schema.

PostgreSQL keeps the names of a JSON object in an order of its own, so the order in which the tool
declares its parameters is restored when a call is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_schema_order(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return arguments in the order of their JSON Schema; names that it lacks come last.

    Args:
        arguments: Of a call, as they are stored.
        parameters: The tool's schema; null: it is not known, and the order stays.
    """
    known = (parameters or {}).get("properties")
    properties = known if isinstance(known, Mapping) else {}
    names = [name for name in properties if name in arguments]
    names += [name for name in arguments if name not in properties]
    return {name: _ordered(arguments[name], properties.get(name)) for name in names}


def _ordered(value: Any, schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, Mapping):
        return in_schema_order(value, schema)
    if isinstance(value, list):
        return [_ordered(one, schema.get("items")) for one in value]
    return value
