"""Arguments stand in the order of their schema, also behind references."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heartbit_site.base.schema_references import in_schema_order

LEG = {"type": "object", "properties": {"to": {"type": "string"}, "by": {"type": "string"}}}
STORED = {"by": "train", "to": "Rome"}
WANTED = '{"to": "Rome", "by": "train"}'
REFERENCE = {"$ref": "#/$defs/Leg"}
NULL = {"type": "null"}


@pytest.mark.parametrize(
    "schema",
    [
        LEG,
        REFERENCE,
        {"anyOf": [REFERENCE, NULL], "default": None},
        {"anyOf": [NULL, LEG]},
        {"$ref": "#/$defs/Same"},
        {"$ref": "#/$defs/a~1b"},
    ],
)
def test_given_a_nested_object_then_its_fields_stand_as_declared(schema: dict[str, Any]) -> None:
    definitions = {"Leg": LEG, "Same": REFERENCE, "a/b": LEG}
    parameters = {
        "properties": {"legs": {"type": "array", "items": schema}, "leg": schema},
        "$defs": definitions,
    }
    found = in_schema_order({"leg": STORED, "more": 1, "legs": [STORED]}, parameters)
    assert json.dumps(found) == f'{{"legs": [{WANTED}], "leg": {WANTED}, "more": 1}}'


def test_given_a_schema_of_itself_then_each_depth_is_ordered() -> None:
    node = {"properties": {"name": {}, "inner": {"$ref": "#/$defs/Node"}}}
    parameters = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    found = in_schema_order({"inner": {"inner": {}, "name": "b"}, "name": "a"}, parameters)
    assert json.dumps(found) == '{"name": "a", "inner": {"name": "b", "inner": {}}}'


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {"$ref": "#/$defs/Missing/x"},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": "#/$defs/Circle"},
        {"anyOf": [LEG, REFERENCE, NULL]},
        {"properties": [], "anyOf": "x"},
    ],
)
def test_given_a_schema_that_says_no_order_then_the_order_stays(schema: Any) -> None:
    definitions = {"Circle": {"$ref": "#/$defs/Circle"}, "Leg": LEG}
    parameters = {"properties": {"leg": schema}, "$defs": definitions}
    assert list(in_schema_order({"leg": STORED}, parameters)["leg"]) == ["by", "to"]
    assert in_schema_order(STORED, None) == STORED
