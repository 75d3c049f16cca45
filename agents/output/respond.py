"""Tool by which a model gives its final answer in the form of a JSON Schema.

Usage::

    tools = (*tools, definition(schema))          # offered beside the others; the last is forced
    parameters, is_wrapped = wrapped(schema)      # what the model fills in

A tool's parameters are an object, without a few keywords at the top that providers reject. Any
other schema becomes the property ``value`` of an object; ``agents.output.check`` unwraps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.llm.messages import ToolDefinition
from heartbit_site.base.schema_references import BY_NAME, DEFINITIONS, SCHEMAS, subschemas

NAME = "__respond__"
VALUE = "value"
_DESCRIPTION = (
    "Give your final answer. Call this once, alone, when the work is done: it ends the run. "
    "Fill every field from what you know; text outside of this call is not read."
)
# Anthropic and OpenAI require a plain object at the top of a tool's parameters.
_NOT_AT_THE_TOP = ("$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf")
_TOP = ("$schema", *DEFINITIONS)


def definition(schema: Mapping[str, Any]) -> ToolDefinition:
    """Return the tool for answers that fit a response schema (``check.check_response_schema``)."""
    parameters, _ = wrapped(schema)
    return ToolDefinition(NAME, _DESCRIPTION, parameters)


def wrapped(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the schema as one of an object, and True if its property ``value`` has the answer."""
    if schema.get("type") == "object" and not any(name in schema for name in _NOT_AT_THE_TOP):
        return dict(schema), False
    inner, top = _moved(schema)
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {VALUE: inner},
        "required": [VALUE],
        "additionalProperties": False,
    }
    return {**outer, **top}, True


def _moved(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema for nesting in another, and its top-level entries: draft, definitions.

    ``#`` refers to the whole document, so nesting would change its meaning. Definitions are moved
    to the top, where references to them stay valid; a schema that refers to other parts of itself
    becomes a definition, too, and those references are rewritten.
    """
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


def _is_own(reference: object) -> bool:
    """Return True if a reference points to a part of the document other than a definition."""
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
        elif name in SCHEMAS and isinstance(value, list):
            result[name] = [_renamed(inner, place) for inner in value]
        else:
            result[name] = _renamed(value, place) if name in SCHEMAS else value
    return result
