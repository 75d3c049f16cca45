"""What each run of a tree took, on a phone and on a desk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.models import Run
from tests.fleet import wait_until
from tests.starts import start_run
from tests.web.people import member

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.conftest import Visitors

MODEL = "openai:gpt-5-mini"  # its price is known
TEAM = '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: All.]]'
TOKENS, PRICE = re.compile(r"^\S+ in, \S+ out$"), re.compile(r"^\$0\.0\d+$")


def place(part: Locator) -> dict[str, float]:
    """Where it is drawn, in pixels."""
    found = part.bounding_box()
    assert found is not None
    return {
        "left": found["x"],
        "right": found["x"] + found["width"],
        "top": found["y"],
        "bottom": found["y"] + found["height"],
    }


@pytest.mark.parametrize("width", [390, 1180, 1280])
def test_given_a_tree_then_every_run_and_turn_says_its_tokens_and_cost_where_there_is_room(
    worker: Worker, visitors: Visitors, workspace: Workspace, width: int
) -> None:
    run = start_run(workspace, TEAM, agent="orchestrator", model=MODEL)
    wait_until(Run.objects.filter(pk=run, status="succeeded").exists, what="it succeeded")
    visitor = visitors(user=member(workspace), width=width, height=1000)
    page = visitor.page
    visitor.go(f"runs/{run}/")
    page.get_by_role("button", name="Steps", exact=True).click()
    nodes = [
        page.get_by_role("link", name=f"{name} succeeded") for name in ("orchestrator", "writer")
    ]
    for node in [*nodes, page.locator(".step", has_text="turn 1").first]:
        used, spent = node.locator(".used"), node.locator(".spent")
        expect(used).to_have_text(TOKENS)
        expect(spent).to_have_text(PRICE)
        expect(used).to_be_visible()
        expect(spent).to_be_visible()
        name, tokens, cost = (place(part) for part in (node.locator(".who"), used, spent))
        assert tokens["right"] <= cost["left"], "beside each other"
        assert cost["right"] <= width
        is_below = tokens["top"] > name["bottom"] - 1
        assert is_below == (width != 1180), "below the name on a phone, and in a pane"
        assert place(node)["bottom"] >= max(tokens["bottom"], cost["bottom"])
        if width > 390:
            track = place(node.locator(".track"))
            assert track["right"] - track["left"] > 80, "time has its room"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_given_a_window_that_becomes_narrow_then_its_rows_become_higher(
    worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    run = start_run(workspace, TEAM, agent="orchestrator", model=MODEL)
    wait_until(Run.objects.filter(pk=run, status="succeeded").exists, what="it succeeded")
    visitor = visitors(user=member(workspace), width=1180)
    page = visitor.page
    visitor.go(f"runs/{run}/")
    rows = page.locator("a.line")
    expect(rows).to_have_count(2)
    before = place(rows.nth(1))["top"] - place(rows.nth(0))["top"]
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator(".timeline[data-narrow]")).to_have_count(1)
    assert place(rows.nth(1))["top"] - place(rows.nth(0))["top"] > before


def test_given_a_page_that_knows_nothing_yet_then_its_steps_can_be_asked_for(
    worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    run = start_run(workspace, TEAM, agent="orchestrator", model=MODEL)
    wait_until(Run.objects.filter(pk=run, status="succeeded").exists, what="it succeeded")
    visitor = visitors(user=member(workspace))
    page = visitor.page
    page.route_web_socket(re.compile("/ws/"), lambda _: None)  # which says nothing
    visitor.go(f"runs/{run}/")
    steps = page.get_by_role("button", name="Steps", exact=True)
    steps.click()
    expect(steps).to_have_attribute("aria-pressed", "true")
