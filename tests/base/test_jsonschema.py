"""Problems are sentences a model can act on; unusable schemas are refused beforehand."""

from __future__ import annotations

import time
from typing import Any

import pytest

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import MAX_PROBLEMS, check_schema, validate
from tests.pace import in_time

DELEGATE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}, "minItems": 1, "maxItems": 2},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
    },
    "required": ["tasks"],
    "additionalProperties": False,
    "$defs": {
        "Task": {
            "type": "object",
            "properties": {
                "agent": {"enum": ["researcher", "analyst", "writer"]},
                "effort": {"type": "integer", "minimum": 1},
            },
            "required": ["agent"],
            "additionalProperties": False,
        }
    },
}


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"tasks": [{"agent": "writer", "effort": 1.0}], "note": None}, []),
        (
            {"tasks": [{"agent": "reasercher"}]},
            ["tasks[0].agent: 'reasercher' is not one of researcher, analyst, writer"],
        ),
        (
            {"tasks": [{"agnt": "writer"}]},
            [
                "tasks[0]: agnt is not accepted here; accepted are agent, effort",
                "tasks[0]: 'agent' is required and missing",
            ],
        ),
        ({}, ["'tasks' is required and missing"]),
        ({"tasks": []}, ["tasks: the array has fewer than 1 items"]),
        ({"tasks": [{"agent": "writer", "effort": 0}]}, ["tasks[0].effort: 0 is less than 1"]),
        ({"tasks": "x"}, ["tasks: 'x' is not of type array"]),
        ([], ["the array is not of type object"]),
        (
            {"tasks": [{"agent": "writer"}], "note": "too long"},
            [
                "note: 'too long' matches none of the alternatives (note: 'too long' is longer "
                "than 5 characters; note: 'too long' is not of type null)"
            ],
        ),
    ],
)
def test_problems_say_where_and_what(value: object, problems: list[str]) -> None:
    assert sorted(validate(DELEGATE, value)) == sorted(problems)


def test_problems_are_few_and_short_whatever_the_value() -> None:
    value = {
        "tasks": [{"x" * 10_000: "y" * 10_000, "agent": "z" * 10_000}] * 100,
        "note": "n" * 9999,
    }
    problems = validate(DELEGATE, value)
    assert 0 < len(problems) <= MAX_PROBLEMS
    assert max(map(len, problems)) < 1_000


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "strng"}, "not valid at type"),
        ({"properties": []}, "not valid at properties"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "Retrieval is disabled"),
        ({"$ref": "file:///etc/passwd"}, "Retrieval is disabled"),
        ({"$schema": "http://127.0.0.1:9/draft"}, "Unknown meta-schema"),
        ({"$ref": "#/$defs/missing"}, "does not exist"),
        ({"pattern": "(?=a)b"}, "regex"),
        ({"pattern": r"(a)\1"}, "regex"),
        ({"pattern": "(a{1000}){1000}"}, "regex"),
        ({"default": float("nan")}, "not plain JSON"),
        ({"default": object()}, "not plain JSON"),
        ({"description": "x" * 300_000}, "too large"),
    ],
)
def test_an_unusable_schema_is_refused(schema: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence.replace("(", r"\(")):
        check_schema(schema)


def test_a_schema_too_deep_for_the_stack_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"properties": {"a": schema}}
    with pytest.raises(ConfigurationError):
        check_schema(schema)
    for _ in range(100_000):
        schema = {"not": schema}
    with pytest.raises(ConfigurationError):
        check_schema(schema)


def test_recursive_references_end() -> None:
    tree = {"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}, "type": "object"}}}
    schema = tree | {"$ref": "#/$defs/n"}
    check_schema(schema)
    value: object = 1
    for _ in range(63):
        value = {"n": value}
    assert validate(schema, value)[0].endswith("1 is not of type object")
    assert validate({"$ref": "#"}, 1) == []


def test_a_pattern_runs_in_linear_time() -> None:
    assert validate({"pattern": "^(a+)+$"}, "a" * 50_000 + "b")


def test_a_changed_schema_is_noticed() -> None:
    schema: dict[str, Any] = {"type": "string"}
    assert validate(schema, "x") == []
    schema["type"] = "integer"
    assert validate(schema, "x") == ["'x' is not of type integer"]


def doubling(levels: int) -> dict[str, Any]:
    """Every level is tried twice: 2**levels branches for any value."""
    definitions: dict[str, Any] = {"n0": {"type": "string"}}
    for level in range(1, levels):
        reference = {"$ref": f"#/$defs/n{level - 1}"}
        definitions[f"n{level}"] = {"anyOf": [reference, reference]}
    return {"$defs": definitions, "$ref": f"#/$defs/n{levels - 1}"}


def branching() -> dict[str, Any]:
    """Every level of the *value* is tried twice."""
    branch = {"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["b"]}
    other = branch | {"required": ["c"]}
    return {"$defs": {"n": {"anyOf": [branch, other]}}, "$ref": "#/$defs/n"}


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        (doubling(8), 5, "5 matches none of the alternatives"),
        (doubling(14), 5, "too many alternatives"),
        (doubling(40), 5, "too deeply"),
        (branching(), nested(3), "the object matches none of the alternatives"),
        (branching(), nested(14), "too many alternatives"),
        (branching(), nested(60), "too deeply"),
    ],
)
@pytest.mark.paced
def test_an_exponential_schema_stops_nobody(
    schema: dict[str, Any], value: object, sentence: str
) -> None:
    check_schema(schema)
    began = time.perf_counter()
    problems = validate(schema, value)
    took = time.perf_counter() - began
    assert len(problems) == 1
    assert sentence in problems[0]
    in_time(took, 0.5)


def test_an_ordinary_recursive_schema_is_explained_at_every_depth() -> None:
    """A tree recurses in two places, but each node of a value is judged once."""
    node = {"$ref": "#/$defs/n"}
    names = {"left": node, "right": node, "leaf": {"type": "integer"}}
    tree = {"type": "object", "properties": names}
    schema = {"$defs": {"n": tree}, **node}
    value: object = {"leaf": "x"}
    for _ in range(30):
        value = {"left": value, "right": {"leaf": 1}}
    assert validate(schema, value)[0].endswith("'x' is not of type integer")
