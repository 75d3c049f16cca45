"""Every page in both colours, on a desk and on a phone: accessible, within the policy, at home."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.create_default_team import create_default_team
from agents.actions.post_message import post_message, start_conversation
from agents.actions.start_run import start_run
from agents.models import Run
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from tests.fleet import wait_until
from tests.web.people import person
from tests.web.visitor import Visitor, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from playwright.sync_api import Browser

    from tests.api.server import WebServer
    from tests.fleet import Worker

CALL = '[[calls: calculate {\\"expression\\": \\"6 * 7\\"}]] [[text: Forty-two.]]'
TEAM = (
    f'What is the answer? [[delegate: {{"agent": "analyst", "task": "Do the sum. {CALL}"}},'
    ' {"agent": "writer", "task": "Say it. [[text: It is **42**.]]"}]]'
    " [[text: The answer is **42**, as `6 * 7` says.]]"
)
ASKED = 'Sum up. [[calls: calculate {"expression": "6 * 7"}]] [[text: It is 42.]]'
SERIOUS = {"serious", "critical"}
_AXE = "axe.run({resultTypes: ['violations']})"


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
    pages = {
        "runs": ("runs/", "What is the answer?"),
        "run": (f"runs/{done}/", "The answer is"),
        "failed run": (f"runs/{failed}/", "writer"),
        "approvals": ("approvals/", "calculate"),
        "chat": (f"chat/writer/{talk.pk}/", "there"),
        "fleet": ("fleet/", f"process {worker.pid}"),
    }
    return World(workspace, person(operator=True), pages)


@pytest.fixture(scope="module", params=[(1280, False), (390, True)])
def visitor(
    request: pytest.FixtureRequest, site: WebServer, browser: Browser, world: World
) -> Iterator[Visitor]:
    """An operator; one window for all pages, because opening one takes longer than a page."""
    width, dark = request.param
    opened = visit(browser, site.url, world.workspace, world.operator, dark=dark, width=width)
    yield opened
    opened.context.close()


NAMES = ("runs", "run", "failed run", "approvals", "chat", "fleet")


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
    assert [*_found(visitor), *visitor.problems()] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_given_the_login_page_then_it_is_accessible_and_fits(
    site: WebServer, browser: Browser, *, dark: bool
) -> None:
    visitor = visit(browser, site.url, dark=dark, width=390)
    visitor.go("/login/")
    assert [*_found(visitor), *visitor.problems()] == []
    visitor.context.close()


def _found(visitor: Visitor) -> Iterator[str]:
    page = visitor.page
    page.evaluate(_script())
    violations: list[dict[str, Any]] = page.evaluate(f"{_AXE}.then((done) => done.violations)")
    for violation in violations:
        if violation["impact"] in SERIOUS:
            nodes = [(node["target"], node["failureSummary"]) for node in violation["nodes"][:3]]
            yield f"{violation['id']}: {violation['help']}: {json.dumps(nodes)}"
    width, fits = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    if width > fits:
        yield f"the page is {width} px wide where {fits} px are"


def _script() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text()
