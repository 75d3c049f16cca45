"""The graph on the page of a workflow's run, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.models import Agent, Run
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.starts import start_run
from tests.web import axe
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

HOSTILE = "<b onclick='x()'>ends"
TAKEN = "edge is-taken"
GRAPH = {
    "nodes": {
        "count": {"set": {"n": 1}},
        "fact": {"agent": "scribe", "task": "[[text: Owls see at night.]] {{ input.topic }}"},
        "broken": {"tool": "calculate", "arguments": {"expression": "1 / 0"}, "retry": 1}
        | {"on_error": "continue"},
        HOSTILE: {"set": {"n": 0}, "when": "state.n < 0"},
        "send": {"ask": "Publish {{ steps.fact.output }}?", "form": {"type": "string"}},
        "never": {"set": {"n": 0}},
    },
    "start": "count",
    "state": {"n": {"merge": "add", "initial": 0}},
    "edges": [
        {"from": "count", "cases": [{"when": "state.n < 3", "to": "count"}], "default": "fact"},
        {"from": "fact", "to": ["broken", HOSTILE, "send"]},
        {"from": "send", "cases": [{"when": "message == 'no'", "to": "never"}], "default": "count"},
    ],
}


@pytest.fixture
def run(worker: Worker, workspace: Workspace) -> Run:
    """A run that waits for a person, after a loop, a retry and a child run."""
    publish_agent(Agent.objects.create(workspace=workspace, name="scribe", system_prompt="Write."))
    create_agent(workspace, WorkflowSpec.model_validate({"name": "w", **GRAPH}), by=SYSTEM)
    return Run.objects.get(pk=start_run(workspace, '{"topic": "owls"}', agent="w"))


def test_nodes_light_up_and_open_their_details(signed_in: Visitor, run: Run) -> None:
    signed_in.go(f"runs/{run.pk}/")
    page = signed_in.page
    node = {name: page.locator(f'[data-node="{name}"]') for name in GRAPH["nodes"]}
    expect(node["send"]).to_have_attribute("data-state", "asks")
    expect(page.get_by_role("tab", name="Supersteps")).to_be_visible()
    at = page.evaluate("[scrollY, document.activeElement.tagName]")
    assert at == [0, "BODY"], "the first superstep took the place and the focus of a reader"
    for name, label in {
        "count": "count: set n. done, visited 3 times",
        "fact": "fact: agent scribe. done, visited once",
        "broken": "broken: tool calculate. failed, visited once, 1 retry",
        HOSTILE: f"{HOSTILE}: set n. Only under a condition. skipped",
        "send": "send: ask Publish {{ steps.fact.output }}?. asks a person, visited once",
        "never": "never: set n. not reached",
    }.items():
        expect(node[name]).to_have_attribute("aria-label", label)
    assert page.locator("[data-node] b").count() == 0
    node["fact"].click()
    details = page.get_by_role("region", name="Node fact")
    expect(details).to_contain_text("Owls see at night.")
    node["broken"].click()
    details = page.get_by_role("region", name="Node broken")
    expect(details).to_contain_text("Tried again after")
    expect(details).to_contain_text("Owls see at night.")  # its input
    page.get_by_role("textbox", name="Answer").fill("no")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(node["never"]).to_have_attribute("data-state", "done")
    expect(node["send"]).to_have_attribute("data-state", "done")
    for ends in (("count", "fact"), ("send", "never")):
        first, second = (f"node {name}" for name in ends)
        expect(page.locator(f'[data-from="{first}"][data-to="{second}"]')).to_have_class(TAKEN)
    expect(page.locator('[data-to="end never"]')).to_have_class(TAKEN)
    expect(page.locator('[data-from="node send"][data-to="node count"]')).not_to_have_class(TAKEN)


def test_the_keyboard_moves_between_nodes_and_opens_them(signed_in: Visitor, run: Run) -> None:
    signed_in.go(f"runs/{run.pk}/")
    page = signed_in.page
    expect(page.locator("[data-node=send]")).to_have_attribute("data-state", "asks")
    page.locator("[data-node=count]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-node=fact]")).to_be_focused()
    page.keyboard.press("Enter")
    details = page.get_by_role("region", name="Node fact")
    expect(details).to_contain_text("Owls see at night.")
    page.keyboard.press("Tab")
    expect(details.get_by_role("button", name="Close the node")).to_be_focused()
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()
    expect(page.locator("[data-node=fact]")).to_be_focused()


@pytest.mark.parametrize("dark", [False, True])
def test_the_graph_is_accessible_and_scrolls_within_its_card(
    visitors: Visitors, workspace: Workspace, run: Run, *, dark: bool
) -> None:
    phone = visitors(user=member(workspace), width=390, dark=dark)
    phone.go(f"runs/{run.pk}/")
    page = phone.page
    expect(page.locator("[data-node=send]")).to_have_attribute("data-state", "asks")
    page.locator("[data-node=fact]").click()
    assert list(map(str, axe.serious(page))) == []
    box = page.locator(".graph-box")
    assert box.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_run_of_an_agent_has_no_graph(signed_in: Visitor, run: Run) -> None:
    signed_in.go(f"runs/{run.pk}/")
    page = signed_in.page
    page.locator("[data-node=fact][role=button]").click()  # once the script is there
    page.get_by_role("region", name="Node fact").get_by_role("link", name="scribe").click()
    expect(page.get_by_role("heading", name="scribe", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Graph")).to_be_hidden()
