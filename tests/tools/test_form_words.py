"""The form of an answer in words: all of it, and choices that mean what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.calls.questions import (
    TEXT,
    are_numbered,
    choices,
    draft,
    explained,
    read_answer,
    without_form,
)

TRIP = {
    "type": "object",
    "description": "A trip.",
    "properties": {
        "to": {"type": "string", "description": "A city."},
        "class": {"enum": ["first", "second"]},
        "days": {"type": ["integer", "null"], "minimum": 1},
        "more": True,
    },
    "required": ["to", "class", "by"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (TEXT, [""]),
        ({"type": "string"}, [""]),
        ({"type": "string", "maxLength": 3}, ["string, maxLength 3"]),
        ({"type": "integer", "minimum": 1, "title": "Days"}, ["Days", "integer, minimum 1"]),
        ({"enum": ["red", 3]}, ["one of:", "  red", "  3"]),
        ({"type": "boolean", "default": True}, ["one of:", "  true", "  false", "default true"]),
        (
            TRIP,
            [
                "A trip.",
                "a JSON object:",
                "  to: string (A city.), needed",
                '  class: enum ["first", "second"], needed',
                "  days: integer or null, minimum 1",
                "  more: anything",
                "  by: needed",
                "additionalProperties false",
            ],
        ),
        ({"anyOf": [{"type": "null"}]}, ['anyOf [{"type": "null"}]']),
        ({"type": "array", "items": {}}, ["array, items {}"]),
    ],
)
def test_given_a_form_then_all_of_it_is_said(form: dict[str, Any], lines: list[str]) -> None:
    assert explained(form).split("\n") == lines


def test_given_a_property_called_like_a_keyword_then_both_are_said() -> None:
    form = {"type": "object", "properties": {"minProperties": {}}, "minProperties": 1}
    assert explained(form).split("\n")[1:] == ["  minProperties: anything", "minProperties 1"]


@pytest.mark.parametrize(
    "form",
    [
        {"enum": ["red", 3, None, [1], {"a": "é"}, True, " x\ny "]},
        {"type": "string", "enum": ["1", "true", "null"]},
        {"type": "boolean"},
    ],
)
def test_given_choices_then_each_as_it_is_written_means_itself(form: dict[str, Any]) -> None:
    meant = [read_answer({"form": form}, text) for text in choices(form)]
    assert meant == form.get("enum", [True, False])


@pytest.mark.parametrize(
    "form",
    [
        {"enum": [True, "true"]},  # written alike
        {"enum": [""]},
        {"enum": ["red"], "minLength": 4},
        {"type": "string", "enum": [3]},
        {"enum": "red"},
        TEXT,
        TRIP,
    ],
)
def test_given_a_form_of_another_kind_then_it_leaves_no_choices(form: dict[str, Any]) -> None:
    assert choices(form) == []
    assert not are_numbered(form)


def test_given_an_answer_that_is_a_number_then_choices_have_none() -> None:
    assert are_numbered({"enum": ["red", "green"]})
    assert not are_numbered({"enum": ["red", 1]})
    assert not are_numbered({"enum": ["red", "2 "]})
    assert explained({"enum": ["red"]}, numbered=True) == "one of:\n  1  red"


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (TRIP, {"to": None, "class": None, "by": None}),
        (
            {"type": "object", "properties": {"n": {"default": 3}, "m": True}},
            {"n": 3, "m": None},
        ),
        ({"type": "object"}, {}),
        ({"type": "array"}, []),
    ],
)
def test_given_a_form_then_an_answer_begins_with_its_names(form: Any, value: Any) -> None:
    assert json.loads(draft(form)) == value


def test_given_a_question_then_only_its_form_is_left_out_of_its_arguments() -> None:
    asked = {"question": "Which?", "form": {"enum": ["red"]}}
    assert without_form(asked) == {"question": "Which?"}
    assert without_form({"question": "Which?", "form": None}) == {"question": "Which?"}
    assert without_form({"form": "A4", "pages": 2}) == {"form": "A4", "pages": 2}
