"""A result that waits for a review, in the inbox and on its run's page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from agents.actions.waits import answer_wait
from agents.models import Run, Wait
from heartbit_site.base.audit import Actor
from tests.clients import Client
from tests.fleet import wait_until
from tests.web.people import member
from tests.web.waiting_calls import unreviewed

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

REPORT = "# Sales\n\nIt was a **good** week.\n\n| Day | Orders |\n| --- | --- |\n| Mon | 12 |\n"
SEND = re.compile("Send it a message")


def test_its_form_has_labels_and_shows_the_result_as_markdown(
    signed_in: Visitor, workspace: Workspace
) -> None:
    wait = unreviewed(workspace, f"{REPORT}<img src=x onerror=alert(1)>\u202e", can_continue=True)
    signed_in.go("inbox/")
    listed = signed_in.page.get_by_role("navigation", name="What waits")
    expect(listed.locator(".title")).to_have_text("Sales")
    card = signed_in.page.get_by_role("article", name="Review of researcher")
    shown = card.get_by_role("group", name="The result")
    expect(shown.get_by_role("heading", name="Sales")).to_be_visible()
    expect(shown.locator("strong")).to_have_text("good")
    expect(shown.get_by_role("cell", name="12")).to_be_visible()
    expect(shown).to_contain_text("onerror=alert(1)>\\u202e")
    expect(shown.locator("img")).to_have_count(0)
    labels = card.locator("label")
    expect(labels).to_have_text(["Message", "Result, if you edit it"])
    expect(card).not_to_contain_text("optional")
    card.get_by_role("button", name="Request changes").click()
    expect(card.get_by_role("alert")).to_contain_text("say what the agent is to change")
    card.get_by_label("Message").fill("Shorter.")
    card.get_by_role("button", name="Request changes").click()
    wait_until(lambda: Wait.objects.get(pk=wait.pk).resolved_at is not None)
    wait.refresh_from_db()
    assert wait.value is not None
    assert wait.value["answer"] == {"decision": "changes", "message": "Shorter."}
    signed_in.expect("422")


def test_a_structured_result_is_shown_as_json(signed_in: Visitor, workspace: Workspace) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    unreviewed(workspace, '{"n": 1}', structured={"n": 1}, response_schema=schema)
    signed_in.go("inbox/")
    card = signed_in.page.get_by_role("article", name="Review of researcher")
    expect(card.get_by_role("group", name="The result").locator("pre")).to_contain_text('"n": 1')
    expect(card.locator("legend", has_text="Result, if you edit it")).to_be_visible()


def test_a_message_is_offered_while_the_run_takes_one(
    signed_in: Visitor, workspace: Workspace
) -> None:
    wait = unreviewed(workspace, REPORT, can_continue=True)
    signed_in.go(f"runs/{wait.run_id}/")
    page = signed_in.page
    expect(page.get_by_role("group", name="The result")).to_be_visible()  # its script has drawn
    cancel, send = (page.get_by_role("button", name=name) for name in ("Cancel", SEND))
    expect(cancel.first).to_be_enabled()
    expect(send).to_have_count(0)
    answer_wait(wait, {"decision": "changes", "message": "Shorter."}, by=Actor("ben", "web"))
    expect(send).to_be_visible()


@pytest.mark.django_db
@pytest.mark.parametrize(("decided", "offered"), [(None, False), ("changes", True)])
def test_the_server_draws_the_buttons_that_the_script_offers(
    workspace: Workspace, decided: str | None, *, offered: bool
) -> None:
    wait = unreviewed(workspace, REPORT, can_continue=True)
    if decided:
        answer = {"decision": decided, "message": "Shorter."}
        answer_wait(wait, answer, by=Actor("ben", "web"))
    page = drawn(member(workspace, "operator"), workspace, wait)
    assert (SEND.search(page) is not None) is offered
    assert "Cancel" in page
    Run.objects.filter(pk=wait.run_id).update(cancel_requested=True)
    assert SEND.search(drawn(member(workspace, "operator"), workspace, wait)) is None


def drawn(user: User, workspace: Workspace, wait: Wait) -> str:
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client.get(f"/w/{workspace.slug}/runs/{wait.run_id}/").content.decode()


def test_what_is_decided_alone_keeps_no_room_for_a_checkbox(
    visitors: Visitors, workspace: Workspace
) -> None:
    unreviewed(workspace, REPORT)
    for width in (1280, 390):
        visitor = visitors(user=member(workspace), width=width)
        visitor.go("inbox/")
        row = visitor.page.get_by_role("navigation", name="What waits").get_by_role("listitem")
        button = row.get_by_role("button")
        boxes = row.bounding_box(), button.bounding_box()
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["x"] == boxes[1]["x"]
