"""Response schemas of every kind, each with values that fit."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from heartbit_site.base.untrusted import JSONValue

Case = tuple[dict[str, Any], JSONValue]

NAMES = st.sampled_from(["value", "arguments", "__respond__", "name", "a", "b"])
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
    st.sampled_from(['{"value": 1}', "[1]", "true", "12", '"12"', "```json\n[1]\n```", ""]),
)
NUMBERS = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
ANY_JSON: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXT, inner, max_size=3),
    max_leaves=6,
)
_LEAVES: list[st.SearchStrategy[Case]] = [
    TEXT.map(lambda value: ({"type": "string"}, value)),
    st.integers(-(2**40), 2**40).map(lambda value: ({"type": "integer"}, value)),
    NUMBERS.map(lambda value: ({"type": "number"}, value)),
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
    ANY_JSON.map(lambda value: ({}, value)),
    st.sampled_from(["yes", "no"]).map(lambda value: ({"enum": ["yes", "no"]}, value)),
    (st.none() | st.integers(0, 9)).map(lambda value: ({"type": ["integer", "null"]}, value)),
]


def _array(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return inner.flatmap(
        lambda case: st.integers(0, 3).map(
            lambda size: ({"type": "array", "items": case[0]}, [case[1]] * size)
        )
    )


def _object(inner: st.SearchStrategy[Case], *, is_open: bool) -> st.SearchStrategy[Case]:
    def built(cases: dict[str, Case]) -> Case:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: case[0] for name, case in cases.items()},
            "required": list(cases),
        }
        if not is_open:
            schema["additionalProperties"] = False
        return schema, {name: case[1] for name, case in cases.items()}

    return st.dictionaries(NAMES, inner, max_size=3).map(built)


def _either(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return st.tuples(inner, inner).map(lambda two: ({"anyOf": [two[1][0], two[0][0]]}, two[0][1]))


CASES: st.SearchStrategy[Case] = st.recursive(
    st.one_of(_LEAVES),
    lambda inner: st.one_of(
        _array(inner),
        _object(inner, is_open=True),
        _object(inner, is_open=False),
        _either(inner),
    ),
    max_leaves=5,
)

TREE: dict[str, Any] = {
    "type": "array",
    "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]},
    "maxItems": 3,
}
"""A schema that is no object and refers to itself."""
