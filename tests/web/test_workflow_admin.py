"""The drawing of a workflow on its page of the admin, and beside another version's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import change_agent, create_agent
from agents.models import Agent
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.web import axe

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor

STEPS = {
    "find": {"agent": "scribe", "task": "Find <b>owls</b>"},
    "check": {"needs": "find", "ask": "Is it right?"},
}
NEXT = {
    "find": {"agent": "scribe", "task": "Find"},
    "send": {"needs": "find", "set": {}},
}


def test_a_workflow_is_drawn_and_its_versions_stand_side_by_side(
    signed_in: Visitor, workspace: Workspace
) -> None:
    publish_agent(Agent.objects.create(workspace=workspace, name="scribe", system_prompt="Write."))
    first, second = (
        WorkflowSpec.model_validate({"name": "digest", "steps": steps}) for steps in (STEPS, NEXT)
    )
    create_agent(workspace, first, by=SYSTEM)
    given = WorkflowSpec.model_fields.keys() - {"enabled"}
    change_agent(workspace, "digest", second, given, by=SYSTEM)
    row = Agent.objects.get(workspace=workspace, name="digest")
    page = signed_in.page
    signed_in.go(f"/admin/agents/workflow/{row.pk}/change/")
    graph = page.get_by_role("region", name="Drawing")
    expect(graph.locator("[data-node]")).to_have_count(2)
    expect(graph.locator("svg")).to_contain_text("start to find")
    assert list(map(str, axe.serious(page))) == []
    version = row.versions.get(number=2)
    signed_in.go(f"/admin/agents/agentversion/{version.pk}/compare/?with=1")
    states = {
        (where, node): page.get_by_role("region", name=f"Graph {where}").locator(
            f"[data-node={node}]"
        )
        for where, node in (("before", "check"), ("before", "find"), ("after", "send"))
    }
    expect(states["before", "check"]).to_have_attribute("data-state", "removed")
    expect(states["before", "find"]).to_have_attribute("data-state", "changed")
    expect(states["after", "send"]).to_have_attribute("data-state", "added")
    assert list(map(str, axe.serious(page))) == []
