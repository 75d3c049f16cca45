"""``make figures``: what the pages cost and how soon they are of use, before and after issue 49.

pytest runs this file when it is named. The figures *before* are those of the issue, measured at
fb942831 on the same kind of machine (two slow cores); those *after* are measured here. It writes
``build/figures.json``, prints a table in Markdown, and fails where a limit of the issue is missed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from agents.models import Agent, Run
from tests.api.server import WebServer
from tests.fleet import wait_until
from tests.pace import slowness
from tests.server_process import ROOT
from tests.starts import start_run
from tests.versions.test_drafts import keep
from tests.web.people import person
from tests.web.test_journeys import (
    test_given_an_operator_when_running_the_fleet_then_runs_wait_go_on_and_say_why as run_fleet,
)
from tests.web.test_studio import tab_to
from tests.web.test_work_journeys import (
    test_given_an_approver_on_a_phone_then_a_call_is_decided_with_one_thumb as approve,
)
from tests.web.test_work_journeys import (
    test_given_an_author_then_a_draft_is_edited_tested_and_published as configure,
)
from tests.web.test_work_journeys import (
    test_given_an_editor_then_a_report_is_scheduled_from_a_template_and_tested as schedule,
)
from tests.web.visitor import Visitor, visit
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.conftest import Visitors

FILE: Final = ROOT / "build" / "figures.json"
STATIC: Final = ROOT / "heartbit_site" / "static" / "heartbit"
#: Of the issue; a range is of several pages.
BEFORE: Final = {
    "first load, KB": "924-1,121",
    "first load, requests": "66",
    "agent form of the admin, KB": "2,176",
    "layout shift of the run page": "0.36-1.08",
    "run page of use at 300 ms round trip, s": "6.0",
    "60 new runs, requests of one viewer": "15",
    "60 new runs, KB of one viewer": "4,374",
    "tabs to publish": "112",
    "stale said on a work page, s": "0.26",
    "stale said on a page of the admin, s": "never",
    "JavaScript, lines": "6,294",
    "six tools of an agent, px": "4,468",
    "y of Approve at 390 x 844": "1,468",
}
MOST_KB, MOST_REQUESTS, MOST_FORM_KB, MOST_SHIFT, MOST_SECONDS = 250, 12, 300, 0.05, 2.5
MOST_LINES, MOST_TABS = 5_740, 30
SUM = "What is 6 times 7? [[text: It is **forty-two**, as everybody knows.]]"
_SHIFT = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""

_found: dict[str, float] = {}


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Note how many seconds something takes."""
    began = time.monotonic()
    yield
    _found[name] = round(time.monotonic() - began, 2)


class PageLoad:
    """What a page fetches: requests, and bytes as they came over the wire."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        self.addresses: list[str] = []
        self.session = page.context.new_cdp_session(page)
        self.session.send("Network.enable")
        self.session.send("Network.setCacheDisabled", {"cacheDisabled": False})
        self.session.on("Network.responseReceived", self._answered)
        self.session.on("Network.loadingFinished", self._ended)

    def _answered(self, event: dict[str, Any]) -> None:
        if not event["response"].get("fromDiskCache", False):
            self.addresses.append(urlsplit(event["response"]["url"]).path)

    def _ended(self, event: dict[str, Any]) -> None:
        self.bytes += int(event["encodedDataLength"])

    @property
    def requests(self) -> int:
        return len(self.addresses)

    @property
    def kilobytes(self) -> float:
        """Of 1,000 bytes."""
        return self.bytes / 1000


@pytest.fixture(scope="module", autouse=True)
def written() -> Iterator[None]:
    yield
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps({"before": BEFORE, "after": _found}, indent=1))


@pytest.fixture
def done(worker: Worker, workspace: Workspace) -> Run:
    run = Run.objects.get(pk=start_run(workspace, SUM, agent="writer", model="openai:fake"))
    wait_until(Run.objects.filter(pk=run.pk, status="succeeded").exists, what="it succeeded")
    return run


def fresh(browser: Browser, site: WebServer, workspace: Workspace) -> Visitor:
    """Somebody whose browser keeps nothing yet: no context of another is taken."""
    opened = visit(browser, site.url, workspace, person(operator=True), height=901)
    opened.context.new_cdp_session(opened.page).send("Network.clearBrowserCache")
    return opened


def test_first_loads(site: WebServer, browser: Browser, workspace: Workspace, done: Run) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    pages = {
        "runs": "runs/", "run": f"runs/{done.pk}/", "inbox": "inbox/", "chat": "chat/writer/",
        "studio": "agents/writer/", "schedules": "schedules/", "health": "health/",
        "agent form of the admin": f"/admin/agents/agent/{agent.pk}/change/",
    }  # fmt: skip
    missed = []
    for name, path in pages.items():
        visitor = fresh(browser, site, workspace)
        traffic = PageLoad(visitor.page)
        visitor.go(path)
        visitor.page.wait_for_load_state("networkidle")
        _found[f"{name}, KB"] = round(traffic.kilobytes)
        _found[f"{name}, requests"] = traffic.requests
        visitor.context.close()
        is_form = "admin" in name  # which also asks for the theme's words and the prompts
        most, requests = (MOST_FORM_KB, 13) if is_form else (MOST_KB, MOST_REQUESTS)
        if traffic.kilobytes > most or traffic.requests > requests:
            missed.append(f"{name}: {traffic.kilobytes:.0f} KB of {traffic.addresses}")
    assert missed == []


def test_the_run_page_is_soon_of_use_and_stays_where_it_is(
    site: WebServer, browser: Browser, workspace: Workspace, done: Run
) -> None:
    visitor = fresh(browser, site, workspace)
    page = visitor.page
    page.add_init_script(_SHIFT)
    slow = {"offline": False, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1}
    PageLoad(page).session.send("Network.emulateNetworkConditions", slow)
    began = time.monotonic()
    page.goto(f"{site.url}/w/{workspace.slug}/runs/{done.pk}/", wait_until="commit")
    page.locator(".answer strong").wait_for()
    took = time.monotonic() - began
    page.wait_for_load_state("networkidle")
    shift = page.evaluate("window.shift")
    _found["run page of use at 300 ms round trip, s"] = round(took, 2)
    _found["layout shift of the run page"] = round(shift, 3)
    visitor.context.close()
    assert took <= MOST_SECONDS * slowness()
    assert shift < MOST_SHIFT


def test_new_runs_cost_a_viewer_little(visitors: Visitors, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    start_run(workspace, "The first.", agent="writer")
    visitor = visitors(user=person(operator=True))
    visitor.go("runs/")
    visitor.page.wait_for_load_state("networkidle")
    traffic = PageLoad(visitor.page)
    for number in range(60):
        start_run(workspace, f"Number {number}.", agent="writer")
    expect(visitor.page.get_by_text("Number 59.")).to_be_visible()
    visitor.page.wait_for_load_state("networkidle")
    _found["60 new runs, requests of one viewer"] = traffic.requests
    _found["60 new runs, KB of one viewer"] = round(traffic.kilobytes)


def test_hands_and_eyes(visitors: Visitors, workspace: Workspace) -> None:
    keep(workspace, system_prompt="By keyboard.")
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("agents/writer/")
    row = page.locator(".pick").first.bounding_box()
    assert row is not None
    _found["six tools of an agent, px"] = 6 * round(row["height"])
    tabs = tab_to(page, "Publish…")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Note")).to_be_focused()
    _found["tabs to publish"] = tabs = tabs + tab_to(page, "Publish v2")
    unserved(workspace)
    phone = visitors(user=person(operator=True), width=390, height=844)
    phone.go("inbox/")
    phone.page.locator("nav.waiting button.plain").first.click()
    button = phone.page.get_by_role("button", name="Approve", exact=True)
    button.wait_for()
    approve = button.bounding_box()
    assert approve is not None
    _found["y of Approve at 390 x 844"] = round(approve["y"])
    assert tabs <= MOST_TABS
    assert approve["y"] + approve["height"] <= 844


def test_a_page_says_that_its_server_is_gone(
    database: None, browser: Browser, workspace: Workspace
) -> None:
    unserved(workspace)
    places = {"a work page": "inbox/", "a page of the admin": "/admin/agents/agent/"}
    for place, path in places.items():
        with WebServer() as server:
            visitor = visit(browser, server.url, workspace, person(operator=True))
            said = visitor.page.locator("#connection")
            visitor.go(path)
            # Its socket has spoken; the admin counts the calls of other tests, too.
            expect(visitor.page.locator("#waiting")).to_have_text(re.compile(r"^\d+$"))
            expect(said).to_be_empty()
            os.kill(server.pid, signal.SIGKILL)
            with timed(f"stale said on {place}, s"):
                said.filter(has_text=re.compile("Offline|Reconnecting")).wait_for()
            visitor.context.close()


class TestJourneys:
    """The four users: what each does from the first page to the last."""

    def test_configure(self, worker: Worker, visitors: Visitors, workspace: Workspace) -> None:
        with timed("journey: configure, s"):
            configure(worker, visitors, workspace)

    def test_schedule(self, visitors: Visitors, workspace: Workspace) -> None:
        with timed("journey: schedule, s"):
            schedule(visitors, workspace)

    def test_approve(self, visitors: Visitors, workspace: Workspace) -> None:
        with timed("journey: approve, s"):
            approve(visitors, workspace)

    def test_fleet(self, visitors: Visitors, workspace: Workspace) -> None:
        with timed("journey: fleet, s"):
            run_fleet(visitors, workspace)


def test_lines_of_javascript() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in STATIC.rglob("*.js"))
    _found["JavaScript, lines"] = lines
    assert lines <= MOST_LINES


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The last: prints what the others found."""
    rows = {**dict.fromkeys(_found), **dict.fromkeys(BEFORE)}
    with capsys.disabled():
        print("\n\n| | before | after |\n|---|---|---|")  # noqa: T201
        for name in rows:
            kind = re.sub(r"^.*, (KB|requests)$", r"first load, \1", name)
            before = BEFORE.get(name) or (BEFORE.get(kind, "-") if name in _found else "-")
            if name in _found:
                print(f"| {name} | {before} | {_found[name]:,} |")  # noqa: T201
