"""Every work page in every look: accessible, fitting, within the policy, at home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from agents.actions.draft_agent import publish_draft
from agents.actions.run_request import start_conversation
from agents.actions.write_agents import create_default_team
from agents.approvals.call_display import token_of
from agents.models import Run
from agents.reads.agents import find_editable
from agents.reads.drafts import stamp_of
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from tests.fleet import wait_until
from tests.starts import post_message, start_run
from tests.versions.test_drafts import keep
from tests.web import labels
from tests.web.dates import other_dates
from tests.web.looks import WIDTHS, faults
from tests.web.matrix_world import MAKERS, agent_of
from tests.web.people import member, person
from tests.web.visitor import Visitor, visit
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User
    from playwright.sync_api import Browser

    from tests.api.server import WebServer
    from tests.fleet import Worker

CALL = '[[calls: calculate {\\"expression\\": \\"6 * 7\\"}]] [[text: Forty-two.]]'
TEAM = (
    f'What is the answer? [[delegate: {{"agent": "analyst", "task": "Do the sum. {CALL}"}},'
    ' {"agent": "writer", "task": "Say it. [[text: It is **42**.]]"}]]'
    " [[text: The answer is **42**, as this says:\n```python\n6 * 7\n```]]"
)
ASKED = 'Sum up. [[calls: calculate {"expression": "6 * 7"}]] [[text: It is 42.]]'


@dataclass(frozen=True, slots=True)
class World:
    """A workspace with something on each page.

    Attributes:
        pages: The path of each, and text that is there when it has been drawn.
    """

    workspace: Workspace
    operator: User
    pages: dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def world(site: WebServer, worker: Worker) -> World:
    slug = f"p-{new_id()}"[:20]
    workspace = Workspace.objects.create(slug=slug, name="Pages")
    create_default_team(workspace)
    done = start_run(workspace, TEAM, model="openai:fake")
    asked = start_run(workspace, ASKED, agent="analyst", model="openai:fake", approve=True)
    talk = start_conversation(workspace, agent="writer", title="A talk")
    said = post_message(talk, "Hello. [[text: Hello **there**.]]", model="openai:fake")
    failed = start_run(workspace, "[[error: 400]]", agent="writer", model="openai:fake")
    states = {done: "succeeded", said.run_id: "succeeded", asked: "waiting", failed: "failed"}
    for run, status in states.items():
        rows = Run.objects.filter(pk=run, status=status)
        wait_until(rows.exists, what=f"{run} {status}")
    agent_of(workspace, "parked")
    MAKERS["base"](workspace)
    keep(workspace, system_prompt="Write short.")
    keep(workspace, "analyst", system_prompt="Second.")
    seen = stamp_of(find_editable(workspace, "analyst"))
    publish_draft(workspace, "analyst", note="Shorter", seen=seen, by=SYSTEM)
    pages = {
        "runs": ("runs/", "What is the answer?"),
        "run": (f"runs/{done}/", "The answer is"),
        "failed run": (f"runs/{failed}/", "writer"),
        "comparison": (f"runs/{done}/compare/{asked}/", "Forty-two."),
        "inbox": ("inbox/", "calculate"),
        "chat": (f"chat/writer/{talk.pk}/", "there"),
        "fleet": ("health/fleet/", f"process {worker.pid}"),
        "health": ("health/", "Agents and models"),
        "alerts": ("health/alerts/", "Add an alert"),
        "usage": ("health/usage/", "Last 30 days"),
        "schedules": ("schedules/", "Begin with a template"),
        "new schedule": ("schedules/new/?template=daily-report", "Next five"),
        "agents": ("agents/", "writer"),
        "new agent": ("new-agent/?template=support", "Create and open"),
        "studio": ("agents/writer/?tool=blackboard_list", "Who approves"),
        "publish": ("agents/writer/publish/", "Write short."),
        "versions": ("agents/writer/versions/", "Published"),
        "version": ("agents/analyst/versions/1/", "Second."),
        "schedule": (f"schedules/{MAKERS['schedule_number'](workspace)}/", "Firings"),
        "connect": (f"connect/{MAKERS['server'](workspace)}/", "as you"),
        "passage": (f"passages/{MAKERS['passage_id'](workspace)}/", "A passage of"),
        "credentials": ("credentials/?kind=imap", "Add"),
        "account": ("account/", "Always allowed by you"),
    }
    return World(workspace, person(operator=True), pages)


@pytest.fixture(scope="module")
def visitor(site: WebServer, browser: Browser, world: World) -> Iterator[Visitor]:
    """An operator; one window for all pages, because opening one takes longer than a page."""
    opened = visit(browser, site.url, world.workspace, world.operator)
    yield opened
    opened.leave()


#: By subject.
NAMES = (
    *("runs", "run", "failed run", "comparison", "inbox", "chat", "fleet", "health", "alerts"),
    *("usage", "schedules", "new schedule", "agents", "new agent", "studio", "publish"),
    *("versions", "version", "schedule", "connect", "passage", "credentials", "account"),
)


@pytest.mark.parametrize("name", NAMES)
def test_given_a_page_then_it_is_accessible_fits_and_stays_at_home(
    visitor: Visitor, world: World, name: str
) -> None:
    path, text = world.pages[name]
    for seen in (visitor.errors, visitor.violations, visitor.left):
        seen.clear()  # another page's
    answer = visitor.go(path)
    assert answer is not None
    assert answer.status == 200
    visitor.page.locator("#main").get_by_text(text).first.wait_for()
    assert [*faults(visitor.page), *visitor.problems()] == []
    assert other_dates(visitor.page.content()) == []


def new_run(page: Page) -> None:
    page.get_by_role("button", name="New run").click()
    agents = page.get_by_role("dialog", name="New run").get_by_label("Agent")
    expect(agents.locator("option[value=writer]")).to_be_attached()


def fork(page: Page) -> None:
    page.get_by_role("link", name="Fork", exact=True).click()
    expect(page.get_by_role("heading", name=labels.FORK_DIALOG)).to_be_visible()
    expect(page.get_by_role("textbox", name="Task", exact=True)).to_be_visible()


def edit(page: Page) -> None:
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("textbox", name="expression")).to_be_visible()


def review(page: Page) -> None:
    edit(page)
    page.get_by_role("textbox", name="expression").fill("6 * 8")
    page.get_by_role("button", name=labels.REVIEW).click()
    expect(page.get_by_role("button", name="these changes")).to_be_visible()


def unfold(page: Page) -> None:
    expect(page.get_by_role("link", name="Download code-1.py")).to_be_visible()
    page.get_by_role("region", name="Blackboard").locator("summary").click()
    expect(page.get_by_label("Entry agent:writer")).to_be_visible()


def look_back(page: Page) -> None:
    turn = page.get_by_label("Turn 1", exact=True)
    turn.get_by_role("button", name=labels.SENT).click()
    expect(turn).to_contain_text("Longest answer")
    turn.get_by_text("delegate_task", exact=True).last.click()
    page.locator(".call summary").first.click()


def replace(page: Page) -> None:
    turn = page.get_by_label("Turn 1", exact=True)
    turn.get_by_role("button", name=labels.FORK).click()
    expect(turn.get_by_label("Result of 1.0 delegate_task")).to_be_visible()


def journal(page: Page) -> None:
    page.get_by_role("tab", name="Journal").click()
    page.locator(".event").first.click()
    expect(page.locator(".event-detail pre")).to_be_visible()


#: What somebody opens on a page: the page, and how.
OPENED: dict[str, tuple[str, Callable[[Page], None]]] = {
    "new run": ("runs", new_run),
    "fork": ("run", fork),
    "edit": ("inbox", edit),
    "review": ("inbox", review),
    "blackboard": ("run", unfold),
    "turn": ("run", look_back),
    "replacement": ("run", replace),
    "journal": ("run", journal),
}


@pytest.fixture(scope="module")
def desk(site: WebServer, browser: Browser, world: World) -> Iterator[Visitor]:
    """The same operator in a plain window."""
    opened = visit(browser, site.url, world.workspace, world.operator)
    yield opened
    assert opened.problems() == []
    opened.leave()


@pytest.mark.parametrize("name", OPENED)
def test_given_what_somebody_opens_on_a_page_then_it_is_accessible_and_fits(
    desk: Visitor, world: World, name: str
) -> None:
    place, act = OPENED[name]
    path, text = world.pages[place]
    desk.go(path)
    desk.page.locator("#main").get_by_text(text).first.wait_for()
    act(desk.page)
    assert [*faults(desk.page, widths=WIDTHS[:1])] == []


def test_given_a_link_from_a_mail_then_its_pages_are_accessible_and_fit(
    site: WebServer, browser: Browser, workspace: Workspace
) -> None:
    visitor = visit(browser, site.url)
    visitor.expect("409")  # of a link that opens nothing
    link = f"/approve/{token_of(unserved(workspace), member(workspace).pk)}/"
    found = {}
    for path, heading in [(link, "http_get"), ("/approve/x/", "Nothing can be decided here")]:
        visitor.go(path)
        expect(visitor.page.get_by_role("heading", name=heading)).to_be_visible()
        found[heading] = [*faults(visitor.page)]
    visitor.go(link)
    visitor.page.get_by_role("button", name="Deny").click()
    expect(visitor.page.get_by_role("heading", name="Denied.")).to_be_visible()
    found["done"] = [*faults(visitor.page)]
    assert [*found.values(), visitor.problems()] == [[]] * (len(found) + 1)
    visitor.leave()


def test_given_a_page_that_is_not_for_somebody_then_what_they_read_is_accessible_and_fits(
    site: WebServer, browser: Browser, workspace: Workspace
) -> None:
    refused = (member(workspace, "viewer"), "fleet/", "Not allowed")
    nowhere = (person(), "/", "You belong to no workspace yet")
    for user, path, heading in (refused, nowhere):
        visitor = visit(browser, site.url, workspace, user)
        visitor.expect("403")
        visitor.go(path)
        expect(visitor.page.get_by_role("heading", name=heading)).to_be_visible()
        assert [*faults(visitor.page), *visitor.problems()] == []
        visitor.leave()


def test_given_the_login_page_then_it_is_accessible_and_fits(
    site: WebServer, browser: Browser
) -> None:
    visitor = visit(browser, site.url)
    for path in ("/login/", "/password/", "/password/?sent", "/password/x/y/"):
        visitor.go(path)
        assert [*faults(visitor.page), *visitor.problems()] == []
    visitor.leave()
