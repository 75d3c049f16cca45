"""Calls of unknown outcome in the admin: shown whole, settled from three buttons, by who may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.urls import reverse

from agents.actions.decide_call import Decider
from agents.actions.settle_call import settle_call
from agents.choices import Home, Outcome, RunStatus
from agents.events import Event, RunDiscarded, RunRevived, encode
from agents.models import Decision, RunEvent, ToolCall
from tests.admin import rows
from tests.admin.test_approvals import person
from tests.doubtful import in_doubt

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/toolcall/"


@pytest.fixture
def call(workspace: Workspace) -> ToolCall:
    given = {"url": f"https://example.org/{rows.HOSTILE}\u202e"}
    return in_doubt(workspace, arguments=given, home=Home.FLEET)


def page(call: ToolCall) -> str:
    return reverse("admin:agents_run_change", args=[call.run_id])


def send(browser: Client, call: ToolCall, outcome: str, **fields: str) -> Any:
    url = reverse("admin:agents_run_decide", args=[call.run_id, call.pk])
    return browser.post(url, {"outcome": outcome} | fields)


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def test_given_a_doubt_then_its_card_shows_all_of_it_and_asks(
    browser: Client, call: ToolCall
) -> None:
    text = browser.get(page(call)).content.decode()
    for said in (
        "Waits for a word on http_request",
        "cannot be taken back",
        "&lt;script&gt;alert",
        "<mark>\\u202e</mark>",
        "it may happen twice",
        "It took effect",
        "Leave it",
        "Waits for a word on http_request (1.0): nobody knows what became of it",
    ):
        assert said in text, said
    assert rows.HOSTILE not in text
    assert 'value="approve"' not in text
    assert 'hx-trigger="every' not in text, "nothing moves under the pointer"


def test_given_a_doubt_then_the_list_and_the_sidebar_count_it_and_mark_it(
    browser: Client, workspace: Workspace
) -> None:
    before = browser.get(reverse("admin:index")).context["dashboard"].waiting
    doubt, approval = in_doubt(workspace, home=Home.FLEET), rows.asking(workspace)
    response = browser.get(LIST)
    text = response.content.decode()
    assert {doubt.pk, approval.pk} <= {row.pk for row in response.context["cl"].result_list}
    assert "Waiting for a person" in text
    assert "Unknown outcome" in text
    sidebar = text.partition(f'href="{LIST}"')[2].partition("</a>")[0]
    assert str(before + 2) in sidebar
    send(browser, doubt, "skipped")
    assert doubt.pk not in {row.pk for row in browser.get(LIST).context["cl"].result_list}


@pytest.mark.parametrize(
    ("outcome", "fields", "message", "line", "history"),
    [
        ("retried", {}, "is made again", "Sent again by root", "Sent again by"),
        (
            "done",
            {"result": "Code 200."},
            "had its effect",
            "Confirmed by root",
            "Confirmed by",
        ),
        ("skipped", {}, "is left as it is", "Left as it is by root", "Left as it is by"),
    ],
)
def test_given_a_button_then_the_call_is_settled_and_the_page_says_how(
    browser: Client,
    call: ToolCall,
    outcome: str,
    fields: dict[str, str],
    message: str,
    line: str,
    history: str,
) -> None:
    response = send(browser, call, outcome, **fields)
    assert message in told(response)
    made = Decision.objects.get(run=call.run_id)
    assert (made.verdict, made.via, made.decided_by) == (outcome, "admin", "root-of-tests")
    assert made.reason == fields.get("result", "")
    call.run.refresh_from_db()
    assert call.run.status == RunStatus.QUEUED
    text = browser.get(page(call)).content.decode()
    assert f"{line}-of-tests: http_request (1.0)" in text
    assert f"{history} root-of-tests (admin)" in text
    for url in ("changelist", "change"):
        arguments = [made.pk] if url == "change" else []
        listed = browser.get(reverse(f"admin:agents_decision_{url}", args=arguments))
        assert made.get_verdict_display() in listed.content.decode()


def test_given_somebody_was_quicker_then_the_late_one_is_told_who(
    browser: Client, call: ToolCall
) -> None:
    settle_call(call, Outcome.DONE, by=Decider("anna", "terminal"))
    assert "already done by anna" in told(send(browser, call, "retried"))


def test_given_an_outcome_that_is_none_then_nothing_is_settled(
    browser: Client, call: ToolCall
) -> None:
    response = send(browser, call, "maybe", result="What I wrote.")
    [card] = response.context["page"].cards
    assert (card.refused.reason, card.in_doubt) == ("What I wrote.", True)
    assert "Nothing was decided." in response.content.decode()
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_given_no_permission_to_decide_then_it_is_shown_and_cannot_be_settled(
    call: ToolCall, workspace: Workspace
) -> None:
    reader = person(workspace, "viewer")
    text = reader.get(page(call)).content.decode()
    assert "Nobody knows what became of http_request" in text
    assert 'name="outcome"' not in text
    assert send(reader, call, "done").status_code == 403


def test_given_an_approved_call_that_died_then_both_decisions_are_shown(
    browser: Client, call: ToolCall
) -> None:
    Decision.objects.create(
        run=call.run, call_id="1.0", wait_key="approval:1.0", digest="d" * 64, runs_digest="e" * 64,
        verdict="edited", arguments='{"url": "https://edited.example/"}', decided_by="bert",
        via="terminal",
    )  # fmt: skip
    assert "https://edited.example/" in browser.get(page(call)).content.decode()
    send(browser, call, "done")
    text = browser.get(page(call)).content.decode()
    assert "Approved with other arguments by bert" in text
    assert "Confirmed by root-of-tests" in text


def test_given_a_revived_and_a_discarded_run_then_the_journal_says_by_whom(
    browser: Client, call: ToolCall
) -> None:
    seq = call.run.last_seq + 10
    said: list[Event] = [RunRevived("anna"), RunDiscarded("bert")]
    for number, event in enumerate(said, start=seq):
        RunEvent.objects.create(run=call.run, seq=number, **encode(event))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agents_run SET last_seq = %s WHERE id = %s", [seq + 1, call.run_id])
    text = browser.get(page(call)).content.decode()
    assert "Let go on by anna" in text
    assert "Discarded by bert" in text
