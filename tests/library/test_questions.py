"""A program answers what its agents ask people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.errors import InvalidEditError
from agents.models import Decision, Run
from heartbit_site.library import Answer, Approve, Deny, Edit, tool
from tests.askers import TRIP, script

if TYPE_CHECKING:
    from heartbit_site.library import Approval, Heartbit, Result

BOUGHT: list[str] = []


@tool
def choose_offer(offers: list[str], answer: Answer) -> str:
    """Let the buyer choose one of several offers."""
    BOUGHT.append(answer.value)
    return f"chosen of {len(offers)}: {answer.value}"


@pytest.fixture
def clerk(heartbit: Heartbit) -> Heartbit:
    return heartbit.agent("clerk", "Work.", tools=["ask_human", choose_offer, "calculate"])


def finished(result: Result) -> list[tuple[str, str]]:
    return [
        (event.data.status, event.data.content)
        for event in result.events
        if event.type == "tool.finished"
    ]


def test_a_question_is_asked_though_no_call_waits_and_its_answer_is_what_the_model_reads(
    clerk: Heartbit,
) -> None:
    asked: list[Approval] = []

    def ask(approval: Approval) -> Answer:
        asked.append(approval)
        return Answer({"to": "Rome", "days": 2})

    result = clerk.on_approval(ask, calls="never").run(script("Where to?", TRIP))
    ((status, content),) = finished(result.expect())
    assert (status, json.loads(content)) == ("ok", {"to": "Rome", "days": 2})
    (approval,) = asked
    assert (approval.tool, approval.form) == ("ask_human", TRIP)
    assert approval.arguments["question"] == "Where to?"
    decision = Decision.objects.get(run_id=result.run_id)
    assert (decision.verdict, decision.decided_by) == ("answered", "the program")


def test_a_tool_of_ones_own_asks_and_other_calls_have_no_form(clerk: Heartbit) -> None:
    BOUGHT.clear()
    forms: list[Any] = []

    async def ask(approval: Approval) -> Answer | bool:
        forms.append(approval.form)
        return Answer("the red one") if approval.form else True

    task = (
        '[[calls: choose_offer {"offers": ["red", "blue"]}, calculate {"expression": "6*7"}]]'
        " [[text: Done.]]"
    )
    result = clerk.on_approval(ask, calls="always").run(task)
    assert sorted(finished(result)) == [("ok", "42"), ("ok", "chosen of 2: the red one")]
    assert BOUGHT == ["the red one"]
    assert [form["type"] for form in forms if form] == ["string"]
    assert forms.count(None) == 1


@pytest.mark.parametrize(
    ("answer", "reason"), [(False, "no reason"), (Deny("Ask her."), "Ask her.")]
)
def test_who_declines_says_why(clerk: Heartbit, answer: Any, reason: str) -> None:
    result = clerk.on_approval(lambda _: answer).run(script("Which colour?"))
    assert result.text == "Done."
    ((status, content),) = finished(result)
    assert (status, reason in content) == ("refused", True)


@pytest.mark.parametrize(
    ("task", "answer", "sentence"),
    [
        (script("Where to?", TRIP), Answer({"to": "Rome", "days": 0}), "0 is less than 1"),
        (script("Which?"), Answer(""), "is shorter"),
        (script("Which?"), True, "a question"),
        (script("Which?"), Approve(always="agent"), "a question"),
        (script("Which?"), Edit({"question": "What?"}), "a question"),
        ('[[calls: calculate {"expression": "1"}]]', Answer("1"), "asks nothing"),
    ],
)
def test_what_is_no_answer_ends_the_run(
    clerk: Heartbit, task: str, answer: Any, sentence: str
) -> None:
    asked: list[Approval] = []

    def ask(approval: Approval) -> Any:
        asked.append(approval)
        return answer

    with pytest.raises(InvalidEditError, match=sentence):
        clerk.on_approval(ask, calls="always").run(task)
    assert Run.objects.get(pk=asked[0].run_id).status == "cancelled"
