"""Journeys on the work pages alone: configure an agent, schedule a report, decide on a phone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from agents.models import Agent, Decision, Run
from scheduling.models import Schedule
from tests.fleet import wait_until
from tests.web.journeys import journey_time
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.conftest import Visitors

__all__ = ["journey_time"]

THUMB_PX = 44


def test_given_an_author_then_a_draft_is_edited_tested_and_published(
    worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    author = visitors(user=member(workspace, "editor"))
    page = author.page
    author.go("agents/")
    page.get_by_role("link", name="writer").click()
    page.get_by_label("Prompt").fill("Write in one sentence.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The draft is saved.")).to_be_visible()
    chat = page.get_by_role("complementary", name="Test and tools")
    chat.get_by_role("textbox").last.fill("Say it. [[text: One **sentence**.]]")
    page.keyboard.press("Enter")
    expect(chat.locator("strong", has_text="sentence")).to_be_visible()
    page.get_by_role("button", name="Publish…").click()
    page.get_by_label("Note").fill("Shorter")
    page.get_by_role("button", name="Publish v2").click()
    expect(page.get_by_text("v2 is published")).to_be_visible()
    published = Agent.objects.get(workspace=workspace, name="writer", origin="").current_version
    assert published is not None
    assert (published.number, published.note) == (2, "Shorter")


def test_given_an_editor_then_a_report_is_scheduled_from_a_template_and_tested(
    visitors: Visitors, workspace: Workspace
) -> None:
    editor = visitors(user=member(workspace, "editor"))
    page = editor.page
    editor.go("schedules/")
    page.get_by_role("link", name=re.compile("Daily report")).click()
    page.get_by_label("Agent").select_option("writer")
    page.get_by_label("When", exact=True).fill("every weekday at 8:00")
    expect(page.locator("[data-preview] li")).to_have_count(5)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Run as a test, deliver to me only").click()
    expect(page.get_by_role("region", name="Firings").last).to_contain_text("Test")
    row = Schedule.objects.get(workspace=workspace)
    assert row.cron == "0 8 * * 1-5"
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_given_an_approver_on_a_phone_then_a_call_is_decided_with_one_thumb(
    visitors: Visitors, workspace: Workspace
) -> None:
    call = unserved(workspace)
    phone = visitors(user=member(workspace, "operator"), width=390, height=844)
    page = phone.page
    phone.go("runs/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox").click()
    page.get_by_role("navigation", name="What waits").get_by_role("button").first.click()
    approve = page.get_by_role("article").get_by_role("button", name="Approve", exact=True)
    box = approve.bounding_box()
    assert box is not None
    assert box["height"] >= THUMB_PX
    assert box["y"] + box["height"] <= 844
    approve.click()
    expect(page.locator("#waiting")).to_be_hidden()
    decided = Decision.objects.filter(run_id=call.run_id, call_id=call.call_id)
    wait_until(decided.exists, what="it is sent, after the time of an Undo")
    assert decided.get().verdict == "approved"
