"""Forms that MCP clients show: one level of fields, each a text, a number, a yes or a choice.

A schema that is richer becomes one field for JSON; the schema itself is checked when the answer
arrives, by the operation that takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.output.text import as_text
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

FIELD: Final = "answer"
_MOST_BYTES: Final = 100_000
_COMMON: Final = ("type", "title", "description", "default")
#: Keywords of a field that clients know, by its type.
_KEYWORDS: Final = {
    "string": (*_COMMON, "enum", "minLength", "maxLength", "format"),
    "number": (*_COMMON, "minimum", "maximum"),
    "integer": (*_COMMON, "minimum", "maximum"),
    "boolean": _COMMON,
}
_FORMATS: Final = ("email", "uri", "date", "date-time")


class FormError(HeartbitError):
    """The answer in a form cannot be read."""


def flat_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form for an answer that fits a schema."""
    if _is_flat(schema):
        fields = {name: _field(one) for name, one in schema["properties"].items()}
        return {"type": "object", "properties": fields, "required": schema.get("required", [])}
    field = _field(schema) or {
        "type": "string",
        "description": f"JSON that fits this schema: {as_text(dict(schema))}",
    }
    return {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}


def value_in(schema: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """Return the answer in a form that ``flat_form`` made of a schema.

    Raises:
        FormError: It is missing, or not JSON.
    """
    if _is_flat(schema):
        return dict(given)
    value = given.get(FIELD)
    if value is None:
        raise FormError(f"The form has no field {FIELD}: send it.")
    if _field(schema) or not isinstance(value, str):
        return value
    try:
        return parse_untrusted_json(value, max_bytes=_MOST_BYTES)
    except UntrustedJSONError as error:
        raise FormError(f"The field {FIELD} must be JSON: {error}") from None


def _is_flat(schema: Mapping[str, Any]) -> bool:
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, dict) or not fields:
        return False
    return all(_field(one) for one in fields.values())


def _field(schema: Any) -> dict[str, Any]:
    """Return a schema as a field; empty: it is none."""
    if not isinstance(schema, dict):
        return {}
    choices = schema.get("enum")
    if choices is not None and not all(isinstance(one, str) for one in choices):
        return {}
    kind = "string" if choices else schema.get("type")
    if kind not in _KEYWORDS:
        return {}
    found = {name: schema[name] for name in _KEYWORDS[kind] if name in schema}
    if found.get("format", "email") not in _FORMATS:
        del found["format"]
    return {**found, "type": kind}
