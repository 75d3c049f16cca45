"""The form of a workflow in a browser: written with the keyboard alone, drawn while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.models import Agent
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.web import axe
from tests.web.people import person

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_step_is_typed_drawn_and_its_fault_marked(
    visitors: Visitors, workspace: Workspace, width: int, *, dark: bool
) -> None:
    publish_agent(Agent.objects.create(workspace=workspace, name="scribe", system_prompt="Write."))
    table = {"name": "digest", "steps": {"find": {"agent": "scribe", "task": "Find"}}}
    row = create_agent(workspace, WorkflowSpec.model_validate(table), by=SYSTEM).row
    visitor = visitors(user=person(operator=True), dark=dark, width=width)
    page = visitor.page
    visitor.go(f"/admin/agents/workflow/{row.pk}/change/")
    drawing, keys = page.get_by_role("region", name="Drawing"), page.keyboard
    summary = page.locator(".hb-summary")
    expect(summary).to_have_text("No faults")
    page.get_by_role("button", name="Add a step").focus()
    keys.press("Enter")  # the name of the new step has the focus
    keys.type("send")
    keys.press("Tab")
    keys.type("Ask a person")
    page.keyboard.press("Tab")
    for _ in range(3):  # past the buttons that move and remove
        keys.press("Tab")
    keys.type("Send {{ steps.fnd.output }}?")
    for _ in range(4):  # past what can be inserted, and who answers how
        keys.press("Tab")
    keys.press("Space")  # after find
    expect(drawing.locator("[data-node]")).to_have_count(2)
    expect(drawing.locator("[data-node=send]")).to_have_attribute("data-state", "failed")
    question = page.get_by_label("Question")
    expect(question).to_have_attribute("aria-invalid", "true")
    assert list(map(str, axe.serious(page))) == []
    question.press("Control+a")
    keys.type("Send ")
    page.get_by_role("button", name="steps.find.output").last.press("Enter")
    expect(question).to_have_value("Send {{ steps.find.output }}")
    expect(summary).to_have_text("No faults")
    expect(question).not_to_have_attribute("aria-invalid", "true")
    keys.press("Alt+ArrowUp")
    expect(question).to_be_focused()
    names = page.locator("[data-row^=steps]:not([hidden]) [name$='-name']")
    assert [one.input_value() for one in names.all()] == ["send", "find"]
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_text("Published: runs from now on use v2.")).to_be_visible()
    row.refresh_from_db()
    assert [node["name"] for node in row.definition["nodes"]] == ["send", "find"]
    assert row.definition["edges"] == [{"from": "find", "to": "send"}]
