"""Arguments of a tool for people, as a table. Pure."""

from __future__ import annotations

import json
from typing import Any


def argument_rows(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return name, type, description, default and whether required of each argument."""
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "type": _type(each),
            "required": name in required,
            "description": each.get("description", ""),
            "default": json.dumps(each["default"]) if each.get("default") is not None else "",
        }
        for name, each in schema.get("properties", {}).items()
    ]


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    options = [_type(each) for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if options:
        return " or ".join(options)
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(kind)
