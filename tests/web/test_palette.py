"""The palette and the keys of every page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.models import Agent, ToolCall
from tests.clients import Client
from tests.starts import start_run
from tests.web.axe import serious
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


def palette(visitor: Visitor) -> Locator:
    visitor.page.keyboard.press("Control+k")
    box = visitor.page.get_by_role("dialog", name="Go to or do")
    expect(box.get_by_role("option").first).to_be_visible()
    return box


def test_given_words_then_enter_opens_what_they_name_on_a_work_page_and_in_the_admin(
    signed_in: Visitor, workspace: Workspace
) -> None:
    run = start_run(workspace, "Sing of tides and storms.", agent="writer")
    page = signed_in.page
    for start, typed, address in (
        ("runs/", "tides stor", f"/runs/{run}/"),
        ("/admin/agents/agent/", "inbox", "/inbox/"),
        ("runs/", "analyst", "/agents/analyst/"),
        ("chat/", str(run)[:13], f"/runs/{run}/"),
        ("chat/", "new chat", "/chat/"),
    ):
        signed_in.go(start)
        box = palette(signed_in)
        page.keyboard.type(typed)
        options = box.get_by_role("option")
        expect(options).to_have_count(1)
        expect(options).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(re.escape(address)))


def test_given_the_palette_then_it_is_accessible_and_arrows_choose_and_escape_closes(
    visitors: Visitors, workspace: Workspace
) -> None:
    for width, dark in ((1280, False), (390, True)):
        visitor = visitors(user=member(workspace), width=width, dark=dark)
        visitor.go("runs/")
        box = palette(visitor)
        assert [*map(str, serious(visitor.page))] == []
        visitor.page.keyboard.press("ArrowDown")
        expect(box.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
        visitor.page.keyboard.press("Escape")
        expect(box).to_have_count(0)
        theme = visitor.page.locator("html").get_attribute("data-theme")
        palette(visitor)
        visitor.page.keyboard.type("dark")
        expect(box.get_by_role("option")).to_have_count(1)
        visitor.page.keyboard.press("Enter")
        expect(visitor.page.locator("html")).not_to_have_attribute("data-theme", str(theme))


def test_given_keys_then_they_lead_to_places_search_and_a_new_run(
    signed_in: Visitor, workspace: Workspace
) -> None:
    page = signed_in.page
    signed_in.go("chat/")
    for key, place in (("i", "/inbox/"), ("a", "/agents/"), ("r", "/runs/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{place}")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("gi n?")
    expect(page.get_by_role("searchbox")).to_have_value("gi n?")
    signed_in.go("chat/")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New run")
    dialog.get_by_label("Agent").select_option("writer")
    dialog.get_by_label("Task").fill("Sing.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}/"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("go to inbox")


def test_given_g_a_in_the_inbox_then_nothing_is_approved(
    signed_in: Visitor, workspace: Workspace
) -> None:
    call = unserved(workspace)
    signed_in.go("inbox/")
    page = signed_in.page
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/agents/")
    assert ToolCall.objects.get(pk=call.pk).status == "waiting"


def test_given_keys_that_are_switched_off_then_letters_do_nothing_until_they_are_on_again(
    signed_in: Visitor,
) -> None:
    page = signed_in.page
    signed_in.go("account/")
    keys = page.get_by_label("Single letters are shortcuts")
    keys.uncheck()
    signed_in.go("runs/")
    page.keyboard.press("?")
    page.keyboard.press("/")
    palette(signed_in)
    expect(page.get_by_role("dialog")).to_have_count(1)
    signed_in.go("account/")
    expect(keys).not_to_be_checked()
    keys.check()
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_given_a_viewer_then_the_palette_finds_nothing_that_is_not_theirs(
    db: None, workspace: Workspace
) -> None:
    client = Client(headers={"host": "localhost"})
    client.force_login(
        member(workspace, "viewer"), backend="django.contrib.auth.backends.ModelBackend"
    )
    path = f"/w/{workspace.slug}/find/"
    found = client.get(path).json()["found"]
    assert {"Runs", "Inbox", "Chat"} <= {one["title"] for one in found}
    assert not any("admin" in one["address"] or one["title"] == "New run" for one in found)
    [writer] = client.get(path, {"q": "writer"}).json()["found"]
    assert writer["address"].endswith("/agents/writer/")
    for odd in ("\0", "'", "x" * 999, "%", "\\"):
        assert client.get(path, {"q": odd}).status_code == 200
