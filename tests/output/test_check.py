"""An answer that fits is taken as it is; a small mistake is mended; anything else is explained."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.output.check import InvalidAnswer, ValidAnswer, check_response_schema, parse_answer
from agents.output.respond import NAME, wrapped
from agents.output.text import as_text
from heartbit_site.base.coercion import coerce
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import validate
from tests.output.schemas import ANY_JSON, CASES, TREE, Case
from tests.pace import in_time

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue

REPORT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "pages": {"type": "integer"},
        "final": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title", "pages"],
    "additionalProperties": False,
}
LIST: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
ANSWER: dict[str, JSONValue] = {"title": "12", "pages": 3}
PLAIN = json.dumps(ANSWER)


@given(CASES)
@settings(max_examples=300)
def test_given_an_answer_that_fits_then_it_is_that_answer(case: Case) -> None:
    schema, value = case
    _, is_wrapped = wrapped(schema)
    text = json.dumps({"value": value} if is_wrapped else value)
    result = parse_answer(schema, text)
    assert isinstance(result, ValidAnswer)
    assert json.dumps(result.value) == json.dumps(value)


@given(CASES, ANY_JSON | st.none())
@settings(max_examples=300)
def test_given_any_text_then_an_answer_fits_or_the_model_is_told_why(
    case: Case, value: JSONValue
) -> None:
    schema, _ = case
    for text in (json.dumps(value), json.dumps({"value": value}), str(value)):
        match parse_answer(schema, text):
            case ValidAnswer(answer):
                assert validate(schema, answer) == []
            case InvalidAnswer(problem):
                assert problem.startswith(f"The arguments of {NAME} ")


@given(CASES, st.sampled_from(["string", "fence", "arguments", "tool", "call", "prose"]))
@settings(max_examples=200)
def test_given_a_right_answer_in_a_wrong_wrapping_then_it_is_accepted(
    case: Case, wrapping: str
) -> None:
    schema, value = case
    parameters, is_wrapped = wrapped(schema)
    plain = {"value": value} if is_wrapped else value
    body = json.dumps(plain)
    text = {
        "string": json.dumps(body),
        "fence": f"```json\n{body}\n```",
        "arguments": json.dumps({"arguments": plain}),
        "tool": json.dumps({NAME: body}),
        "call": json.dumps({"name": NAME, "arguments": plain}),
        "prose": f"Here you are:\n\n~~~\n{body}\n~~~\n\nAnything else?",
    }[wrapping]
    result = parse_answer(schema, text)
    assert isinstance(result, ValidAnswer)
    if wrapping in ("string", "fence", "prose") or validate(parameters, json.loads(text)):
        assert json.dumps(result.value) == json.dumps(value)
    else:  # the schema is so loose that what was sent fits as it is
        assert result.value == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        json.dumps(PLAIN),
        f"```json\n{PLAIN}\n```",
        f"  ```\n{PLAIN}",
        json.dumps(f"```json\n{PLAIN}\n```"),
        json.dumps({"value": ANSWER}),
        json.dumps({"arguments": ANSWER}),
        json.dumps({"arguments": PLAIN}),
        json.dumps({NAME: ANSWER}),
        json.dumps({"name": NAME, "arguments": PLAIN}),
        json.dumps({"arguments": {"value": ANSWER}}),
        '{"title": "12", "pages": "3"}',
        '{"title": "12", "pages": " 3 "}',
        '{"value": {"title": "12", "pages": "3"}}',
    ],
)
def test_given_a_mistake_in_an_object_then_it_is_mended(text: str) -> None:
    assert parse_answer(REPORT, text) == ValidAnswer(ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        '{"value": [1, 2]}',
        "[1, 2]",
        '["1", 2]',
        '{"value": "[1, 2]"}',
        '{"value": ["1", "2"]}',
        '{"value": "```json\\n[1, 2]\\n```"}',
        '"[1, 2]"',
        '{"arguments": [1, 2]}',
        '{"arguments": {"value": [1, 2]}}',
        '{"value": {"value": [1, 2]}}',
        "```json\n[1, 2]\n```",
    ],
)
def test_given_a_mistake_in_a_wrapped_answer_then_it_is_mended(text: str) -> None:
    assert parse_answer(LIST, text) == ValidAnswer([1, 2])


def test_given_texts_for_other_types_then_only_those_are_replaced() -> None:
    text = '{"title": "true", "pages": "4", "final": "False", "tags": "[\\"1\\", \\"2\\"]"}'
    value: JSONValue = {"title": "true", "pages": 4, "final": False, "tags": ["1", "2"]}
    assert parse_answer(REPORT, text) == ValidAnswer(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "- 'title' is required"),
        ('{"title": "a", "pages": "three"}', "- pages: 'three' is not of type integer"),
        ('{"title": "a", "pages": "0x3"}', "- pages: '0x3' is not of type integer"),
        ('{"title": "a", "pages": "3.5"}', "- pages: '3.5' is not of type integer"),
        ('{"title": "a", "pages": 1, "page": 2}', "page is not accepted here; accepted are title"),
        ("{'title': 1}", "could not be read. The JSON is malformed at line 1"),
        ("[" * 99, "could not be read. The JSON is nested too deeply"),
        ('{"title": "a", "title": "b", "pages": 1}', "names 'title' more than once"),
        ("I think the answer is 12.", "could not be read. The JSON is malformed"),
        ("```json\n{}\n```\n```json\n{}\n```", "could not be read."),
        (json.dumps({"other": ANSWER}), "other is not accepted here"),
        (json.dumps({"name": "search", "arguments": ANSWER}), "is not accepted here"),
        ("null", "null is not of type object"),
    ],
)
def test_given_an_answer_that_cannot_be_mended_then_the_problem_names_the_place(
    text: str, problem: str
) -> None:
    result = parse_answer(REPORT, text)
    assert isinstance(result, InvalidAnswer)
    assert problem in result.problem


def test_given_an_answer_of_the_wrong_form_in_a_wrapper_then_the_problem_names_value() -> None:
    result = parse_answer(LIST, '{"value": [1, "two"]}')
    assert result == InvalidAnswer(
        f"The arguments of {NAME} do not fit its schema.\n- value[1]: 'two' is not of type integer"
    )


def test_given_a_number_too_large_for_the_database_then_it_stays_a_text() -> None:
    assert isinstance(parse_answer(LIST, '["99999999999999999999"]'), InvalidAnswer)


def test_given_a_text_that_looks_like_a_number_where_texts_fit_then_it_stays_a_text() -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    schema = {"type": "array", "items": either, "maxItems": 2}
    assert parse_answer(schema, '["1", "2"]') == ValidAnswer(["1", "2"])


def test_given_a_part_that_one_alternative_takes_then_it_stays_though_another_is_mended() -> None:
    lists = {"anyOf": [LIST, {"type": "array", "items": {"type": "string"}}]}
    schema = {"type": "object", "properties": {"ids": lists, "count": {"type": "integer"}}}
    text = '{"ids": ["1"], "count": "1"}'
    assert parse_answer(schema, text) == ValidAnswer({"ids": ["1"], "count": 1})


def test_given_the_answer_in_a_wrapper_fits_then_its_texts_are_not_replaced() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^x": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
    }
    assert parse_answer(schema, '{"arguments": {"xa": "1"}}') == ValidAnswer({"xa": "1"})


def test_given_alternatives_and_references_then_texts_are_replaced_in_them_too() -> None:
    schema = {
        "type": "object",
        "properties": {"limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "additionalProperties": {"$ref": "#/$defs/rows"},
        "$defs": {"rows": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": LIST}},
    }
    text = '{"limit": "7", "x": ["true", ["1"], "[2]"]}'
    assert parse_answer(schema, text) == ValidAnswer({"limit": 7, "x": [True, [1], [2]]})


def test_given_a_recursive_schema_then_texts_deep_in_it_are_replaced() -> None:
    assert parse_answer(TREE, '{"value": ["1", ["2", ["3"]]]}') == ValidAnswer([1, [2, [3]]])


def test_given_null_for_an_optional_property_then_it_is_left_out() -> None:
    text = '{"title": "T", "pages": 3, "final": null, "tags": null}'
    assert parse_answer(REPORT, text) == ValidAnswer({"title": "T", "pages": 3})
    assert isinstance(parse_answer(REPORT, '{"title": null, "pages": 3}'), InvalidAnswer)


@pytest.mark.parametrize("value", [{"a": "text"}, {"a": None}])
def test_given_an_alternative_that_refers_to_itself_then_the_value_stays(value: JSONValue) -> None:
    loop = {"anyOf": [{"$ref": "#/$defs/x"}]}
    schema = {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": loop}}
    assert coerce(schema, value) == value


@pytest.mark.paced
def test_given_alternatives_without_end_then_the_search_is_bounded() -> None:
    twice = {"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}]}
    schema = {
        "$ref": "#/$defs/x",
        "$defs": {"x": {"type": "array", "items": twice, "minItems": 1, "maxItems": 1}},
    }
    value: JSONValue = "end"
    for _ in range(40):
        value = [value]
    began = time.monotonic()
    assert coerce(schema, value) == value
    in_time(time.monotonic() - began, 2)


@pytest.mark.parametrize(
    "schema",
    [
        REPORT,
        LIST,
        TREE,
        {},
        {"enum": ["yes", "no"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {**REPORT, "$id": "https://example.com/report"},
    ],
)
def test_given_a_schema_that_can_be_used_then_it_is_accepted(schema: dict[str, Any]) -> None:
    check_response_schema(schema)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("string", "A response schema is a JSON Schema as an object"),
        (None, "not a NoneType"),
        ([], "not a list"),
        ({"type": "text"}, "The JSON Schema is not valid at type"),
        ({"$ref": "https://example.com/a"}, "Retrieval is disabled"),
        ({"$ref": "#/$defs/missing"}, "'/$defs/missing' does not exist"),
        ({"const": object()}, "is not plain JSON"),
        ({"description": "x" * 70_000}, "too large: 70019 characters, at most 65536"),
        (nested(40), "nested too deeply: at most 32 levels"),
        (nested(400), "The response schema"),
        ({"type": "array", "$id": "https://example.com/a"}, "cannot use $id"),
        ({"anyOf": [{"$dynamicRef": "#"}]}, "cannot use $dynamicRef"),
    ],
)
def test_given_a_schema_that_cannot_be_used_then_one_sentence_says_why(
    schema: object, sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        check_response_schema(schema)
    assert sentence in str(refusal.value)


@given(ANY_JSON)
@settings(max_examples=200)
def test_given_any_answer_then_its_text_is_the_same_whatever_the_order_of_names(
    value: JSONValue,
) -> None:
    def turned(part: JSONValue) -> JSONValue:
        if isinstance(part, dict):
            return {name: turned(part[name]) for name in reversed(part)}
        return [turned(item) for item in part] if isinstance(part, list) else part

    text = as_text(value)
    assert as_text(turned(value)) == text
    assert value == (text if isinstance(value, str) else json.loads(text))


def test_given_an_answer_then_its_text_is_readable() -> None:
    assert as_text({"b": ["Grüße"], "a": 1}) == '{\n  "a": 1,\n  "b": [\n    "Grüße"\n  ]\n}'
    assert as_text("yes") == "yes"
