"""An agent asks a person (E5): over REST, in the inbox and on a run's page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import expect

from agents.actions.decide_call import Always, answer_call, approve_call
from agents.actions.publish_agent import publish_agent
from agents.errors import CallClosedError, InvalidEditError
from agents.models import Agent, Decision, RunEvent, ToolBinding
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from tests.web import labels
from tests.web.asked import address, asked_of, row_of
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.web.visitor import Visitor

TRIP = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "A city."},
        "class": {"enum": ["first", "second"]},
        "days": {"type": "integer", "minimum": 1},
    },
    "required": ["to", "class", "days"],
    "additionalProperties": False,
}
ANN = Actor("ann", "terminal")


def task(question: str, form: dict[str, Any] | None = None) -> str:
    """The script of a model that asks, and says then what it was told."""
    arguments = json.dumps({"question": question} | ({"form": form} if form else {}))
    return f"[[calls: ask_human {arguments}]] [[text: Thank you.]]"


@pytest.fixture
def asker(workspace: Workspace) -> Agent:
    """A published agent that may ask people, and needs nobody's approval for anything."""
    row = Agent.objects.create(workspace=workspace, name="solo", system_prompt="Ask.")
    ToolBinding.objects.create(agent=row, tool="ask_human")
    publish_agent(row)
    return row


def decide(caller: Caller, asked: dict[str, Any], **decision: Any) -> Any:
    return caller.post(address(asked), {"digest": asked["digest"], **decision})


@pytest.mark.usefixtures("asker", "worker")
class TestOverTheApi:
    def test_given_a_question_when_answered_then_the_model_is_told_and_it_is_audited(
        self, caller: Caller
    ) -> None:
        asked = asked_of(caller, task("Which colour?"))
        assert asked["answer_schema"]["type"] == "string"
        answer = decide(caller, asked, verdict="answer", answer="Blue, please.")
        assert (answer.status_code, answer.json()["verdict"]) == (200, "answered")
        assert caller.ended(asked["run_id"])["result"]["text"] == "Thank you."
        call = row_of(asked)
        assert (call.status, call.result) == ("ok", "Blue, please.")
        entry = AuditEntry.objects.get(target=f"run:{asked['run_id']}", action="approval.answer")
        assert entry.label == "ask_human"

    def test_given_a_form_when_the_answer_does_not_fit_then_nothing_is_decided(
        self, caller: Caller
    ) -> None:
        asked = asked_of(caller, task("Where to?", TRIP))
        assert asked["answer_schema"] == TRIP
        wrong = decide(caller, asked, verdict="answer", answer={"to": "Rome", "days": 0})
        assert wrong.status_code == 422
        assert "days: 0 is less than 1" in wrong.json()["detail"]
        assert not Decision.objects.filter(run=asked["run_id"]).exists()
        trip = {"to": "Rome", "class": "first", "days": 2}
        assert decide(caller, asked, verdict="answer", answer=trip).status_code == 200
        caller.ended(asked["run_id"])
        assert json.loads(row_of(asked).result or "") == trip
        resolved = RunEvent.objects.get(run=asked["run_id"], type="wait.resolved")
        ran = json.loads(resolved.payload["value"]["arguments"])
        assert list(ran) == ["question", "form", "answer"]  # the database: form, question

    def test_given_a_question_when_approved_or_always_allowed_then_it_is_still_open(
        self, caller: Caller
    ) -> None:
        asked = asked_of(caller, task("Which colour?"))
        for word in ({}, {"always": {"scope": "agent"}}):
            refused = decide(caller, asked, verdict="approve", **word)
            assert refused.status_code == 422
            assert "answer it, or deny it" in refused.json()["detail"]
        assert decide(caller, asked, verdict="answer").status_code == 422
        assert decide(caller, asked, verdict="deny", reason="None of yours").status_code == 200
        caller.ended(asked["run_id"])
        assert "None of yours" in (row_of(asked).result or "")

    def test_given_a_standing_permission_or_a_quorum_then_a_question_is_asked_all_the_same(
        self, caller: Caller, asker: Agent
    ) -> None:
        asker.bindings.update(approval="never", required_approvals=2)
        publish_agent(asker)
        asked = asked_of(caller, task("Which colour?"))
        assert asked["required_approvals"] == 1
        with pytest.raises(InvalidEditError, match="answer it"):
            approve_call(row_of(asked), digest=asked["digest"], by=ANN, always=Always("agent"))
        answer_call(row_of(asked), digest=asked["digest"], by=ANN, answer="Blue")
        with pytest.raises(CallClosedError, match="already answered by ann"):
            answer_call(row_of(asked), digest=asked["digest"], by=ANN, answer="Red")
        caller.ended(asked["run_id"])
        assert row_of(asked).result == "Blue"

    def test_given_a_group_when_somebody_else_answers_then_they_may_not(
        self, caller: Caller, asker: Agent, workspace: Workspace
    ) -> None:
        group, _ = Group.objects.get_or_create(name="travel-desk")
        asker.bindings.update(approver_group="travel-desk")
        publish_agent(asker)
        clerk = member(workspace, "operator")
        clerk.groups.add(group)
        asked = asked_of(caller, task("Which colour?"))
        with pytest.raises(CallClosedError, match="travel-desk"):
            answer_call(row_of(asked), digest=asked["digest"], by=ANN, answer="Blue")
        by = Actor(clerk.username, "web", clerk.pk)
        answer_call(row_of(asked), digest=asked["digest"], by=by, answer="Blue")
        caller.ended(asked["run_id"])
        assert row_of(asked).result == "Blue"

    def test_given_a_call_that_asks_nothing_when_answered_then_it_is_refused(
        self, caller: Caller, asker: Agent
    ) -> None:
        ToolBinding.objects.create(agent=asker, tool="calculate", approval="always")
        publish_agent(asker)
        asked = asked_of(caller, '[[calls: calculate {"expression": "6*7"}]] [[text: 42.]]')
        assert asked["answer_schema"] is None
        refused = decide(caller, asked, verdict="answer", answer="43")
        assert (refused.status_code, "asks nothing" in refused.json()["detail"]) == (422, True)


@pytest.mark.usefixtures("asker", "worker")
def test_given_a_question_with_a_form_when_answered_in_the_inbox_then_the_agent_goes_on(
    signed_in: Visitor, caller: Caller
) -> None:
    asked = asked_of(caller, task("Where do you want to go,\nand <b>how</b>?", TRIP))
    page = signed_in.page
    signed_in.go("inbox/")
    card = page.get_by_role("article", name="ask_human of solo")
    expect(card.locator(".question")).to_have_text("Where do you want to go,\nand <b>how</b>?")
    expect(card.get_by_role("heading")).to_have_text("solo asks")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(page.get_by_role("button", name="Always allow")).to_have_count(0)

    page.keyboard.press("a")
    page.get_by_label("to", exact=True).fill("Rome")
    page.get_by_label("days", exact=True).fill("two")
    page.get_by_label("class", exact=True).select_option("second")
    page.get_by_role("button", name="Send the answer").click()
    expect(page.get_by_role("alert").filter(has_text="days is not a number")).to_be_visible()
    page.get_by_label("days", exact=True).fill("0")
    page.get_by_role("button", name="Send the answer").click()
    signed_in.expect("422")
    expect(page.get_by_role("alert").filter(has_text="at least")).to_be_visible()
    page.get_by_label("days", exact=True).fill("2")
    page.get_by_role("button", name="Send the answer").click()
    expect(page.get_by_role("heading", name=labels.NOTHING_WAITS)).to_be_visible()
    caller.ended(asked["run_id"])
    assert json.loads(row_of(asked).result or "") == {"to": "Rome", "class": "second", "days": 2}


@pytest.mark.usefixtures("asker", "worker")
def test_given_a_question_in_words_when_declined_on_the_runs_page_then_the_model_reads_why(
    signed_in: Visitor, caller: Caller
) -> None:
    asked = asked_of(caller, task("Which colour?"))
    page = signed_in.page
    signed_in.go(f"runs/{asked['run_id']}/")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_role("textbox", name="Answer")).to_be_focused()
    form = page.get_by_role("form", name="Answer the question")
    form.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Decline", exact=True).click()
    page.get_by_label("Why not?").fill("Ask the designer.")
    page.get_by_role("button", name="Deny", exact=True).click()
    caller.ended(asked["run_id"])
    assert "Ask the designer." in (row_of(asked).result or "")
