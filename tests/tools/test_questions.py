"""Tools that a person answers: what a model may say of the answer, and how it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heartbit_site.base.toolspec import Answer, Effect, spec_of
from heartbit_site.base.untrusted import UntrustedJSONError
from tests.tools.calls import context
from tools.builtin.people import ask_human
from tools.calls import call_parsing, questions
from tools.calls.call_parsing import ParsedCall
from tools.calls.pipeline import PendingApprovalCall, PreparedCall, prepare
from tools.calls.result import ToolResult

SPEC = spec_of(ask_human, effect=Effect.PURE)
CHOICE = {"enum": ["red", "green", 3]}
TRIP = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["to", "days"],
    "additionalProperties": False,
}


def read(arguments: dict[str, Any], *, answered: bool) -> ParsedCall | ToolResult:
    text = json.dumps(arguments)
    return call_parsing.read(
        {"ask_human": SPEC}, name="ask_human", arguments=text, answered=answered
    )


def test_given_the_tool_then_a_model_is_offered_everything_but_the_answer() -> None:
    assert SPEC.answer_parameter == "answer"
    assert set(SPEC.parameters["properties"]) == {"question", "form"}
    assert SPEC.parameters["required"] == ["question"]


def test_given_a_model_that_answers_its_own_question_then_the_call_is_invalid() -> None:
    found = read({"question": "Which?", "answer": "mine"}, answered=False)
    assert isinstance(found, ToolResult)
    assert (found.status, "answer" in found.content) == ("invalid", True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"form": CHOICE}, "\n- 'question' is required and missing"),
        ({"question": ""}, "\n- question: '' is shorter than 1 characters"),
    ],
)
def test_given_no_question_then_the_call_is_invalid_as_any_other(
    arguments: dict[str, Any], problem: str
) -> None:
    found = read(arguments, answered=False)
    assert isinstance(found, ToolResult)
    assert found.status == "invalid"
    assert found.content.endswith(problem)


@pytest.mark.parametrize(
    "form", [{"type": "no such type"}, {"$ref": "https://example.org/x"}, {"pattern": "(?=x)"}]
)
def test_given_a_form_that_nobody_could_fill_in_then_the_call_is_invalid(form: Any) -> None:
    found = read({"question": "Which?", "form": form}, answered=False)
    assert isinstance(found, ToolResult)
    assert (found.status, "form: " in found.content) == ("invalid", True)


@pytest.mark.parametrize(
    ("form", "answer"),
    [(None, "Blue, please."), (CHOICE, "red"), (CHOICE, 3), (TRIP, {"to": "Rome", "days": 2})],
)
def test_given_an_answer_that_fits_then_the_tool_gets_it(form: Any, answer: Any) -> None:
    found = read({"question": "Which?", "form": form, "answer": answer}, answered=True)
    assert isinstance(found, ParsedCall)
    assert found.keywords["answer"] == Answer(answer)
    assert found.arguments == {"question": "Which?", "form": form, "answer": answer}
    assert ask_human(**found.keywords) == answer


@pytest.mark.parametrize(
    ("form", "answer", "problem"),
    [
        (None, "", "the answer: '' is shorter"),
        (None, 3, "the answer: 3 is not of type string"),
        (CHOICE, "blue", "the answer: 'blue' is not one of red, green, 3"),
        (TRIP, {"to": "Rome", "days": 0}, "the answer: days: 0 is less than 1"),
    ],
)
def test_given_an_answer_that_does_not_fit_then_it_says_why(
    form: Any, answer: Any, problem: str
) -> None:
    found = read({"question": "Which?", "form": form, "answer": answer}, answered=True)
    assert isinstance(found, ToolResult)
    assert problem in found.content


def test_given_no_answer_then_it_is_missing() -> None:
    found = read({"question": "Which?"}, answered=True)
    assert isinstance(found, ToolResult)
    assert "'answer' is required" in found.content


@pytest.mark.parametrize(
    ("form", "text", "answer"),
    [
        (None, "42", "42"),
        (None, "", ""),
        ({"type": "integer"}, "42", 42),
        (CHOICE, "red", "red"),
        (CHOICE, "3", 3),
        (TRIP, '{"to": "Rome", "days": 2}', {"to": "Rome", "days": 2}),
        ({"type": "boolean"}, "true", True),
    ],
)
def test_given_a_text_then_it_is_read_as_the_form_wants_it(
    form: Any, text: str, answer: Any
) -> None:
    assert questions.read_answer({"form": form}, text) == answer


def test_given_a_text_that_is_no_json_where_a_form_wants_it_then_it_is_refused() -> None:
    with pytest.raises(UntrustedJSONError):
        questions.read_answer({"form": TRIP}, "Rome, two days")


@pytest.mark.parametrize(("answered", "kind"), [(False, PendingApprovalCall), (True, PreparedCall)])
def test_a_question_is_held_until_a_person_has_answered(*, answered: bool, kind: type) -> None:
    arguments = {"question": "Which?"} | ({"answer": "red"} if answered else {})
    found = prepare(
        {"ask_human": SPEC},
        name="ask_human",
        arguments=json.dumps(arguments),
        context=context(),
        policy=lambda _spec, _arguments: None,
        answered=answered,
    )
    assert isinstance(found, kind)
