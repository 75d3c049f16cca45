"""Tool by which a model gives its final answer in the form of a JSON Schema.

Usage::

    tools = (*tools, definition(schema))          # offered beside the others; the last is forced
    parameters, is_wrapped = wrapped(schema)      # what the model fills in

A tool's parameters are an object, without a few keywords at the top that providers reject. Any
other schema becomes the property ``value`` of an object; ``agents.output.check`` unwraps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.llm.messages import ToolDefinition
from agents.output.references import moved

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "__respond__"
VALUE = "value"
_DESCRIPTION = (
    "Give your final answer. Call this once, alone, when the work is done: it ends the run. "
    "Fill every field from what you know; text outside of this call is not read."
)
# Anthropic and OpenAI require a plain object at the top of a tool's parameters.
_NOT_AT_THE_TOP = ("$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf")


def definition(schema: Mapping[str, Any]) -> ToolDefinition:
    """Return the tool for answers that fit a response schema (``check.check_response_schema``)."""
    parameters, _ = wrapped(schema)
    return ToolDefinition(NAME, _DESCRIPTION, parameters)


def wrapped(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the schema as an object's, and True if the answer is in its property ``value``."""
    if schema.get("type") == "object" and not any(name in schema for name in _NOT_AT_THE_TOP):
        return dict(schema), False
    inner, top = moved(schema)
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {VALUE: inner},
        "required": [VALUE],
        "additionalProperties": False,
    }
    return {**outer, **top}, True
