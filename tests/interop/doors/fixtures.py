"""Workflows that MCP's conformance suite calls by their names, as far as they can be that."""

from __future__ import annotations

from typing import Any, Final

_ANY: Final = {"type": "object"}
_ADDRESS: Final = {
    "$anchor": "address",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}


def _says(name: str, text: str) -> dict[str, Any]:
    """A workflow whose answer is a text."""
    edges = [{"from": "say", "output": text}]
    nodes: dict[str, Any] = {"say": {"set": {}}}
    return {"name": name, "input": _ANY, "start": "say", "nodes": nodes, "edges": edges}


def _does(name: str, **steps: dict[str, Any]) -> dict[str, Any]:
    """A workflow of steps."""
    return {"name": name, "input": _ANY, "steps": steps}


def _asks(question: str, field: str, kind: str = "string", **settings: Any) -> dict[str, Any]:
    """A step that asks for one field."""
    form = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"ask": question, "form": form, **settings}


_FAILS: Final = {"tool": "calculate", "arguments": {"expression": "1/0"}}
FIXTURES: Final[tuple[dict[str, Any], ...]] = (
    _says("test_simple_text", "This is a simple text response for testing."),
    _says("test_logging_tool", "Logged."),
    _does("test_error_handling", divide=_FAILS),
    _does(
        "test_tool_with_progress",
        **{
            name: {"tool": "calculate", "arguments": {"expression": "6*7"}}
            for name in ("first", "second", "third")
        },
    ),
    {
        **_says("json_schema_2020_12_tool", "Fits."),
        "input": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": _ADDRESS},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "allOf": [{"anyOf": [{"required": ["name"]}, {}]}],
            "if": {"required": ["address"]},
            "then": {"required": ["name"]},
            "else": {},
            "additionalProperties": False,
        },
    },
    _does("slow_compute", wait={"pause": "2s"}),
    _does("failing_job", divide=_FAILS),
    _does("confirm_delete", sure=_asks("Delete it?", "confirm", "boolean")),
    _does("multi_input", first=_asks("Which name?", "name"), second=_asks("Which other?", "name")),
    _does("test_streaming_elicitation", who=_asks("Which name?", "name")),
    _does("test_input_required_result_elicitation", who=_asks("Which name?", "name")),
    _does("test_input_required_result_request_state", fine=_asks("Is it fine?", "ok", "boolean")),
    _does("test_input_required_result_tampered_state", fine=_asks("Is it fine?", "ok", "boolean")),
    _does(
        "test_input_required_result_multi_round",
        who=_asks("Which name?", "name"),
        colour=_asks("Which colour?", "color", needs="who"),
    ),
)
