"""Questions of agents in the admin: shown whole, answered or declined from their own form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from agents.models import Decision
from tests.admin import rows
from tests.admin.test_approvals import decision, page, person, send
from tests.askers import TRIP, question

if TYPE_CHECKING:
    from django.test import Client

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


def answered(call: ToolCall) -> Any:
    """What a decision says the tool is given."""
    made = decision(call)
    assert (made.verdict, made.via) == ("answered", "admin")
    return json.loads(made.arguments or "")["answer"]


def test_given_a_question_then_it_can_be_answered_and_declined_and_nothing_else(
    browser: Client, workspace: Workspace
) -> None:
    call = question(workspace, f"Which \u202e? {rows.HOSTILE}", TRIP)
    text = browser.get(page(call)).content.decode()
    for said in (
        "asker asks a person",
        "<dt>Tool</dt><dd>ask_human</dd>",
        "Which <mark>\\u202e</mark>? &lt;script&gt;",
        "a JSON object:\n  to: string, needed\n  days: integer, minimum 1, needed\n",
        'name="answer"',
    ):
        assert said in text, said
    verdicts = {name for name in ("approve", "edit", "always", "deny") if f'value="{name}"' in text}
    assert verdicts == {"deny"}
    names = [
        argument.name[0].text
        for argument in browser.get(page(call)).context["page"].cards[0].arguments
    ]
    assert names == ["question"], "the form is said beside the field"


def test_given_an_answer_in_words_then_the_model_is_told_its_lines(
    browser: Client, workspace: Workspace
) -> None:
    call = question(workspace)
    response = send(browser, call, "answer", answer=" Blue,\r\nplease. ")
    assert response.status_code == 302
    told = " ".join(str(message) for message in get_messages(response.wsgi_request))
    assert "ask_human (1.0) was answered." in told
    assert answered(call) == "Blue,\nplease."


def test_given_a_form_then_an_answer_is_read_as_json(browser: Client, workspace: Workspace) -> None:
    call = question(workspace, form=TRIP)
    send(browser, call, "answer", answer='{"to": "Rome", "days": 2}')
    assert answered(call) == {"to": "Rome", "days": 2}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"to": "<b>Rome", "days": 0}', "0 is less than 1"),
        ("<b>Rome, two days", "has to be JSON that fits its form"),
        ("", "has to be JSON that fits its form"),
    ],
)
def test_given_an_answer_that_does_not_fit_then_it_is_asked_for_again(
    browser: Client, workspace: Workspace, written: str, problem: str
) -> None:
    call = question(workspace, form=TRIP)
    response = send(browser, call, "answer", answer=written)
    assert response.status_code == 200
    [card] = response.context["page"].cards
    assert problem in card.refused.problem
    assert card.refused.answer == written, "what was written is still there"
    text = response.content.decode()
    assert "<b>Rome" not in text
    assert ("&lt;b&gt;Rome" in text) == bool(written)
    assert not Decision.objects.filter(run=call.run_id).exists()


@pytest.mark.parametrize("verdict", ["approve", "always"])
def test_given_a_question_when_it_is_approved_all_the_same_then_it_stays_open(
    browser: Client, workspace: Workspace, verdict: str
) -> None:
    call = question(workspace)
    response = send(browser, call, verdict, scope="agent")
    assert "This is a question: answer it" in response.content.decode()
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_given_a_call_that_asks_nothing_when_answered_then_it_stays_open(
    browser: Client, workspace: Workspace
) -> None:
    call = rows.asking(workspace)
    assert "asks nothing" in send(browser, call, "answer", answer="Blue").content.decode()
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_given_a_question_when_declined_then_the_reason_is_kept(
    browser: Client, workspace: Workspace
) -> None:
    call = question(workspace)
    send(browser, call, "deny", reason="Ask the designer.")
    made = decision(call)
    assert (made.verdict, made.reason) == ("denied", "Ask the designer.")


def test_given_somebody_who_may_only_look_then_they_answer_nothing(workspace: Workspace) -> None:
    call = question(workspace)
    reader = person(workspace, "viewer")
    assert 'name="answer"' not in reader.get(page(call)).content.decode()
    assert send(reader, call, "answer", answer="Blue").status_code == 403
    url = reverse("admin:agents_run_decide", args=[call.run_id, call.pk])
    assert reader.get(f"{url}?verdict=answer&answer=Blue").status_code == 403
    assert not Decision.objects.filter(run=call.run_id).exists()
