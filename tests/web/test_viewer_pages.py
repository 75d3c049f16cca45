"""What a viewer sees on the pages: runs, calls and chats to read, and who can do the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.run_request import start_conversation
from heartbit_site.base.models import Role
from heartbit_site.base.rights import ONLY_INSTALLATION
from tests.starts import post_message
from tests.web import labels
from tests.web.axe import serious
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

WRITES = ("runs:write", "approvals:decide", "agents:write")


@pytest.fixture
def decider(workspace: Workspace) -> str:
    """The name of somebody who may decide."""
    return member(workspace, Role.OPERATOR).username


@pytest.fixture
def call(workspace: Workspace) -> ToolCall:
    return unserved(workspace, arguments={"url": "https://read-me.example/"})


@pytest.fixture(params=[1280, 390], ids=["desk", "phone"])
def viewer(
    request: pytest.FixtureRequest, visitors: Visitors, workspace: Workspace, decider: str
) -> Visitor:
    return visitors(user=member(workspace, Role.VIEWER), width=request.param)


def is_fine(visitor: Visitor) -> bool:
    """Accessible, and not wider than the window; no scope is a word for people."""
    page = visitor.page
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert [*map(str, serious(page))] == []
    assert not page.evaluate(wide)
    assert not [scope for scope in WRITES if scope in page.locator("body").inner_text()]
    return True


def buttons_of(place: Locator) -> list[str]:
    return place.get_by_role("button").all_inner_texts()


def test_given_a_viewer_then_the_navigation_has_what_they_may_see(viewer: Visitor) -> None:
    viewer.go("runs/")
    links = viewer.page.get_by_role("navigation", name="Main").locator(
        ".places a span:nth-child(2)"
    )
    expect(links).to_have_text(["Runs", "Inbox", "Chat", "Agents", "Schedules", "Health"])
    expect(viewer.page.get_by_role("link", name="Settings")).to_have_count(0)


def test_given_a_waiting_call_then_a_viewer_reads_it_and_who_decides(
    viewer: Visitor, call: ToolCall, decider: str
) -> None:
    viewer.go("inbox/")
    card = viewer.page.locator("article.asked")
    expect(card).to_contain_text("https://read-me.example/")
    expect(card.locator("footer")).to_contain_text(decider)
    assert buttons_of(card) == []
    viewer.page.keyboard.press("a")
    viewer.page.keyboard.press("d")
    assert card.locator("form, textarea").count() == 0
    assert is_fine(viewer)


def test_given_a_run_that_waits_then_a_viewer_reads_what_for_and_changes_nothing(
    viewer: Visitor, call: ToolCall, decider: str
) -> None:
    viewer.go(f"runs/{call.run_id}/")
    card = viewer.page.locator("article.asked")
    expect(card).to_contain_text("https://read-me.example/")
    expect(card.locator("footer")).to_contain_text(decider)
    assert buttons_of(card) == []
    for name in ("Cancel", labels.STEER, "Fork"):
        expect(viewer.page.get_by_role("button", name=name)).to_have_count(0)
    assert is_fine(viewer)


def test_given_a_conversation_then_a_viewer_reads_along_and_cannot_write(
    viewer: Visitor, workspace: Workspace, decider: str
) -> None:
    talk = start_conversation(workspace, agent="writer", title="A talk")
    post_message(talk, "What a lovely question.")
    viewer.go(f"chat/writer/{talk.pk}/")
    thread = viewer.page.get_by_role("region", name="Conversation")
    expect(thread).to_contain_text("What a lovely question.")
    expect(thread).to_contain_text(decider)
    expect(viewer.page.get_by_role("textbox")).to_have_count(0)
    for name in ("Rename", "Delete", "Send"):
        expect(viewer.page.get_by_role("button", name=name)).to_have_count(0)
    expect(viewer.page.get_by_role("link", name="New conversation")).to_have_count(0)
    assert is_fine(viewer)


def test_given_a_page_of_the_installation_then_the_refusal_says_whose_it_is(
    viewer: Visitor,
) -> None:
    viewer.expect("403")
    viewer.go("health/fleet/")
    expect(viewer.page.get_by_role("heading", name="Not allowed")).to_be_visible()
    expect(viewer.page.locator("main")).to_contain_text(ONLY_INSTALLATION)
    assert is_fine(viewer)


def test_given_the_admin_then_a_viewer_is_told_why_not_and_finds_back(
    viewer: Visitor, workspace: Workspace
) -> None:
    boss = member(workspace, Role.ADMIN)
    viewer.expect("403")
    viewer.go("/admin/")
    expect(viewer.page.locator("main")).to_contain_text(boss.username)
    assert is_fine(viewer)
    viewer.page.get_by_role("link", name=labels.BACK_TO_WORK).click()
    expect(viewer.page.get_by_role("heading", name="Runs")).to_be_visible()


def test_given_an_editor_then_the_admin_is_a_click_away_and_bounded(
    visitors: Visitors, workspace: Workspace
) -> None:
    editor = visitors(user=member(workspace, Role.EDITOR))
    editor.go("runs/")
    main = editor.page.get_by_role("main")
    side = editor.page.get_by_role("navigation", name="Main")
    side.get_by_role("link", name="Settings").click()
    expect(main.get_by_role("link", name="Grants")).to_be_visible()
    expect(main.get_by_role("link", name="API keys")).to_have_count(0)
    expect(main.get_by_role("link", name="Users")).to_have_count(0)
    expect(main.get_by_text("Celery Beat")).to_have_count(0)
    expect(side.get_by_role("link", name="Agents")).to_be_visible()


def test_given_an_operator_then_calls_are_decided_and_agents_are_not_changed(
    visitors: Visitors, workspace: Workspace, call: ToolCall
) -> None:
    operator = visitors(user=member(workspace, Role.OPERATOR))
    operator.go("inbox/")
    card = operator.page.locator("article.asked")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(card.locator("footer")).not_to_contain_text("Who can")
    expect(operator.page.get_by_role("link", name="Settings")).to_have_count(0)
