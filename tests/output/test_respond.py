"""Every response schema becomes the parameters of a tool, and means what it meant."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.output.respond import NAME, definition, wrapped
from heartbit_site.base.jsonschema import check_schema, validate
from tests.output.schemas import ANY_JSON, CASES, TREE, Case

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue

REPORT: dict[str, Any] = {"type": "object", "properties": {"title": {"type": "string"}}}
TREES = st.recursive(
    st.integers(0, 9) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def test_given_an_object_schema_then_it_is_the_parameters_as_it_is() -> None:
    assert wrapped(REPORT) == (REPORT, False)
    assert definition(REPORT).name == NAME
    assert definition(REPORT).parameters == REPORT
    assert definition(REPORT).description


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string"},
        {"enum": ["yes", "no"]},
        {"type": ["object", "null"]},
        {},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "oneOf": [REPORT]},
    ],
)
def test_given_what_no_provider_takes_at_the_top_then_it_is_the_property_value(
    schema: dict[str, Any],
) -> None:
    parameters, is_wrapped = wrapped(schema)
    assert is_wrapped
    assert parameters == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }


def test_given_definitions_then_they_move_to_the_top() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/report",
        "$defs": {"report": REPORT},
        "definitions": {"old": {"type": "null"}},
    }
    parameters, is_wrapped = wrapped(schema)
    assert is_wrapped
    assert parameters["properties"] == {"value": {"$ref": "#/$defs/report"}}
    assert parameters["$defs"] == {"report": REPORT}
    assert parameters["definitions"] == {"old": {"type": "null"}}
    assert parameters["$schema"] == schema["$schema"]
    check_schema(parameters)


@given(CASES, ANY_JSON)
@settings(max_examples=200)
def test_given_any_schema_and_value_then_wrapping_changes_neither_verdict_nor_schema(
    case: Case, other: JSONValue
) -> None:
    schema, fitting = case
    before = copy.deepcopy(schema)
    parameters, is_wrapped = wrapped(schema)
    assert schema == before
    assert parameters["type"] == "object"
    for value in (fitting, other):
        sent = {"value": value} if is_wrapped else value
        assert bool(validate(parameters, sent)) == bool(validate(schema, value))


@given(TREES)
@settings(max_examples=200)
def test_given_a_schema_that_refers_to_itself_then_it_still_does_when_wrapped(
    value: JSONValue,
) -> None:
    by_pointer = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/anyOf/0"}}]}
    by_definition = {
        "anyOf": [{"$ref": "#/$defs/list"}, {"type": "integer"}],
        "$defs": {"list": {"type": "array", "items": {"$ref": "#"}}, "answer": {"const": 1}},
    }
    for schema in (TREE, by_pointer, by_definition):
        parameters, is_wrapped = wrapped(schema)
        assert is_wrapped
        check_schema(parameters)
        assert bool(validate(parameters, {"value": value})) == bool(validate(schema, value))


def test_given_a_property_or_a_value_called_ref_then_it_is_no_reference() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"$ref": {"type": "string"}}},
            {"const": {"$ref": "#"}},
            {"$ref": "#/anyOf/0"},
        ]
    }
    parameters, _ = wrapped(schema)
    inner = parameters["$defs"]["answer"]
    assert inner["anyOf"][0] == schema["anyOf"][0]
    assert inner["anyOf"][1] == schema["anyOf"][1]
    assert inner["anyOf"][2] == {"$ref": "#/$defs/answer/anyOf/0"}
