"""What the runs of a tree share: over the API, and folded on a run's page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, BlackboardEntry, Run, ToolBinding
from heartbit_site.base.preview import preview
from tests.fleet import wait_until
from tests.starts import start_run
from tests.web.matrix_world import agent_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker
    from tests.web.visitor import Visitor

TEAM = '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: All.]]'
NOTE = 'Note it. [[calls: blackboard_write {"key": "plan", "value": "First <b>this</b>."}]]'


def test_given_a_page_when_its_run_writes_on_the_blackboard_then_it_appears_folded(
    worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    scribe = Agent.objects.create(workspace=workspace, name="scribe", system_prompt="Note.")
    ToolBinding.objects.create(agent=scribe, tool="blackboard_write", approval="always")
    publish_agent(scribe)
    run = start_run(workspace, f"{NOTE} [[text: Noted.]]", agent="scribe", model="openai:fake")
    page = signed_in.page
    signed_in.go(f"runs/{run}/")
    card = page.get_by_role("region", name="Blackboard")
    asked = page.locator("article.asked")
    expect(asked).to_contain_text("plan")
    expect(card).to_have_count(0)
    asked.get_by_role("button", name="Approve").click()

    expect(card).to_contain_text("shared by the whole tree")
    entry = card.get_by_label("Entry plan")
    expect(entry).to_be_hidden()
    card.locator("summary").click()
    expect(entry).to_have_text("First <b>this</b>.")
    expect(card.get_by_role("listitem")).to_contain_text("by scribe")
    kept = BlackboardEntry.objects.get(root_id=run)
    shown = card.locator("time").get_attribute("datetime")
    assert shown is not None
    assert datetime.fromisoformat(shown) == kept.updated_at


def test_given_a_tree_then_each_of_its_runs_tells_what_the_tree_shares(
    caller: Caller, worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    run = start_run(workspace, TEAM, agent="orchestrator", model="openai:fake")
    wait_until(Run.objects.filter(pk=run, status="succeeded").exists, what="it succeeded")
    now = timezone.now()
    for key, seconds in [("gone", -60), ("there", 3600)]:
        BlackboardEntry.objects.create(
            root_id=run,
            key=key,
            value={"a": [1, None]},
            author="program",
            expires_at=now + timedelta(seconds=seconds),
        )
    child = Run.objects.get(parent_id=run)
    whole = caller.get(f"/runs/{run}/blackboard").json()
    assert [(one["key"], one["author"], one["value"]) for one in whole["entries"]] == [
        ("agent:writer", "writer", "Prose."),
        ("there", "program", {"a": [1, None]}),
    ]
    assert [one["expires_at"] is None for one in whole["entries"]] == [True, False]
    assert caller.get(f"/runs/{child.pk}/blackboard").json() == whole

    first = caller.get(f"/runs/{run}/blackboard", limit=1).json()
    assert first["next_cursor"] == "agent:writer"
    then = caller.get(f"/runs/{run}/blackboard", cursor=first["next_cursor"]).json()
    assert ([one["key"] for one in then["entries"]], then["next_cursor"]) == (["there"], None)

    signed_in.go(f"runs/{run}/#{child.pk}")
    card = signed_in.page.get_by_role("region", name="Blackboard")
    card.locator("summary").click()
    expect(card.get_by_role("button")).to_have_count(0)
    expect(card.get_by_label("Entry agent:writer")).to_have_text("Prose.")
    expect(card.get_by_label("Entry there")).to_contain_text('"a": [')


def test_given_a_long_value_then_the_page_shows_its_beginning_and_all_when_asked(
    signed_in: Visitor, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    run = start_run(workspace, "x", agent="parked")
    text = "word " * 1_000 + "end"
    BlackboardEntry.objects.create(root_id=run, key="a/b", value=text, author="program")
    signed_in.go(f"runs/{run}/")
    card = signed_in.page.get_by_role("region", name="Blackboard")
    card.locator("summary").first.click()
    expect(card.get_by_label("Beginning of entry a/b")).to_have_text(preview(text))
    card.get_by_text("Show all").click()
    expect(card.get_by_label("Entry a/b", exact=True)).to_have_text(text)
    expect(card.get_by_text("Show all")).to_be_hidden()
