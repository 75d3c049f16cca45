"""A question by mail: the link shows it, takes an answer that fits, and is used up only then."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from agents.actions.waits import notify_approvers
from agents.approvals.call_display import token_of
from agents.models import Decision
from heartbit_site.base.models import AuditEntry
from tests.askers import COLOUR, TRIP, question
from tests.clients import Client
from tests.web import axe
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.core.mail import EmailMessage

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


@pytest.fixture
def clerk(workspace: Workspace) -> User:
    user = member(workspace, "operator")
    user.email = f"{user.username}@example.org"
    user.save()
    return user


@pytest.fixture
def nobody() -> Client:
    """A browser in which nobody is logged in."""
    return Client(headers={"host": "127.0.0.1"})


def link(call: ToolCall, user: User) -> str:
    return f"/approve/{token_of(call, user.pk)}/"


def answered(call: ToolCall) -> Any:
    found = Decision.objects.get(run=call.run)
    assert (found.verdict, found.via) == ("answered", "email")
    return json.loads(found.arguments or "")["answer"]


def test_given_a_question_when_announced_then_the_mail_says_so_and_nothing_of_what_is_asked(
    workspace: Workspace, clerk: User, mailoutbox: list[EmailMessage]
) -> None:
    call = question(workspace, "What is the password?")
    assert notify_approvers(call.run_id) == 1
    [mail] = mailoutbox
    assert (mail.to, mail.subject) == ([clerk.email], "asker asks you a question")
    assert mail.body.startswith("asker asks you a question.\n")
    assert "answer or decline" in mail.body
    assert token_of(call, clerk.pk).partition(":")[0] in mail.body
    assert "password" not in mail.body


def test_given_a_link_when_the_answer_fits_then_the_model_is_told_and_the_link_is_used_up(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    call = question(workspace, "Which \u202e colour,\n<b>please</b>?", COLOUR)
    address = link(call, clerk)
    text = nobody.get(address).content.decode()
    assert '<h1 class="text">asker asks you</h1>' in text
    escape = '<span class="escape">\\u202e</span>'
    assert f"Which {escape} colour,\n&lt;b&gt;please&lt;/b&gt;?</p>" in text
    assert "one of:\n  red\n  green</pre>" in text
    assert 'value="approve"' not in text
    assert not Decision.objects.filter(run=call.run).exists()

    done = nobody.post(address, {"verdict": "answer", "answer": "green", "reason": ""})
    assert (done.status_code, "Answered." in done.content.decode()) == (200, True)
    assert answered(call) == "green"
    entry = AuditEntry.objects.get(target=f"run:{call.run_id}")
    assert (entry.via, entry.user_id) == ("email", clerk.pk)
    late = nobody.post(address, {"verdict": "answer", "answer": "red"})
    assert late.status_code == 409
    assert answered(call) == "green"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"to": "<i>Rome", "days": 0}', "0 is less than 1"),
        ("<i>Rome, two days", "must be JSON"),
    ],
)
def test_given_an_answer_that_does_not_fit_then_it_is_kept_and_the_link_still_serves(
    workspace: Workspace, clerk: User, nobody: Client, written: str, problem: str
) -> None:
    call = question(workspace, "Where to?", TRIP)
    address = link(call, clerk)
    wrong = nobody.post(address, {"verdict": "answer", "answer": written, "reason": "<i>why"})
    text = wrong.content.decode()
    assert wrong.status_code == 422
    assert 'role="alert"' in text
    assert problem in text
    assert "<i>" not in text
    assert "&lt;i&gt;Rome" in text
    assert 'value="&lt;i&gt;why"' in text
    assert not Decision.objects.filter(run=call.run).exists()
    right = {"verdict": "answer", "answer": '{"to": "Rome",\r\n "days": 2}'}
    assert nobody.post(address, right).status_code == 200
    assert answered(call) == {"to": "Rome", "days": 2}


def test_given_a_question_when_approved_by_hand_then_it_is_shown_again(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    call = question(workspace)
    wrong = nobody.post(link(call, clerk), {"verdict": "approve"})
    assert (wrong.status_code, "This is a question" in wrong.content.decode()) == (422, True)
    assert nobody.post(link(call, clerk), {"verdict": "maybe"}).status_code == 409
    assert not Decision.objects.filter(run=call.run).exists()


def test_given_a_call_that_asks_nothing_when_answered_then_it_is_shown_again(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    call = unserved(workspace)
    wrong = nobody.post(link(call, clerk), {"verdict": "answer", "answer": "Blue"})
    assert (wrong.status_code, "asks nothing" in wrong.content.decode()) == (422, True)
    assert not Decision.objects.filter(run=call.run).exists()


def test_given_a_question_when_declined_then_the_reason_is_kept(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    call = question(workspace)
    sent = {"verdict": "deny", "answer": "", "reason": "Ask the designer."}
    assert "Declined." in nobody.post(link(call, clerk), sent).content.decode()
    found = Decision.objects.get(run=call.run)
    assert (found.verdict, found.reason) == ("denied", "Ask the designer.")


def test_given_a_phone_when_the_link_is_opened_then_the_question_is_read_and_answered_on_it(
    workspace: Workspace, clerk: User, visitors: Visitors
) -> None:
    call = question(workspace, "Where do you want to go?\n" + "And why? " * 40, TRIP)
    phone = visitors(width=390, dark=True)
    page = phone.page
    phone.go(link(call, clerk))
    expect(page.get_by_role("heading", name="asker asks you")).to_be_visible()
    assert [str(one) for one in axe.serious(page)] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Your answer").fill('{"to": "Rome"}')
    phone.expect("422")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_have_text(
        re.compile(r"^The answer does not fit: 'days' is .+\. Nothing was decided\.$")
    )
    expect(page.get_by_label("Your answer")).to_have_value('{"to": "Rome"}')
    page.get_by_label("Your answer").fill('{"to": "Rome",\n"days": 2}')
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("heading", name="Answered.")).to_be_visible()
    assert answered(call) == {"to": "Rome", "days": 2}
