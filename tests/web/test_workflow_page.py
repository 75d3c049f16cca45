"""The page of a workflow's run, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.models import Agent, Run
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.starts import start_run
from tests.web import labels

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.visitor import Visitor


def test_supersteps_are_shown_and_its_question_is_answered(
    signed_in: Visitor, worker: Worker, workspace: Workspace
) -> None:
    publish_agent(Agent.objects.create(workspace=workspace, name="scribe", system_prompt="Write."))
    steps = {
        "sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }} * 7"}},
        "fact": {"agent": "scribe", "task": "[[text: Owls see at night.]] {{ input.topic }}"},
        "send": {
            "needs": ["sum", "fact"],
            "ask": "Publish this? {{ steps.fact.output }} ({{ steps.sum.output }})",
            "form": {"type": "string"},
        },
    }
    spec = WorkflowSpec.model_validate({"name": "digest", "steps": steps})
    create_agent(workspace, spec, by=SYSTEM)
    run = Run.objects.get(pk=start_run(workspace, '{"topic": "owls", "n": 6}', agent="digest"))
    signed_in.go(f"runs/{run.pk}/")
    page = signed_in.page
    expect(page.get_by_text("Publish this? Owls see at night. (42)")).to_be_visible()
    expect(page.get_by_role("heading", name="Superstep 0")).to_be_visible()
    expect(page.get_by_role("heading", name="Superstep 2")).to_be_visible()
    page.get_by_role("link", name="Fork").click()
    begins = page.get_by_label(labels.FORK_START)
    expect(begins).to_contain_text("with superstep 2, whose nodes run again")
    page.go_back()
    page.get_by_role("textbox", name="Answer").fill("Yes, do")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator(".head .pill")).to_have_text("Succeeded")
    run.refresh_from_db()
    assert (run.status, run.output) == ("succeeded", "Yes, do")
