"""An operator's journey: see the workers, pause a queue, stop a workspace, and let it go on."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from playwright.sync_api import Locator, Page, expect

from agents.actions.fleet import pause_work
from agents.actions.runs import cancel_run
from agents.limits.pauses import queue
from agents.models import Agent, Pause, Run, WorkerHeartbeat
from heartbit_site.base.audit import SYSTEM
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.web import labels
from tests.web.looks import faults
from tests.web.people import member, person

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def unfold(place: Page | Locator, title: str) -> Locator:
    """Open the question before an action; return it."""
    asked = place.locator("details.ask", has_text=title)
    asked.locator("summary").click()
    return asked


def test_given_an_operator_when_pausing_and_stopping_then_the_page_says_so_and_ends_it(
    visitors: Visitors, worker: Worker, workspace: Workspace
) -> None:
    name = f"q{secrets.token_hex(4)}"
    pause_work(queue(name), by=SYSTEM)
    run = start_run(workspace, "[[hang: headers]]", agent="writer", model="openai:fake")
    wait_until(lambda: Run.objects.filter(pk=run, status="running").exists(), what="at work")
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("fleet/")  # the former address

    row = page.get_by_role("row", name=re.compile(f"process {worker.pid}"))
    expect(row).to_contain_text("Alive")
    expect(row.get_by_role("meter")).to_have_attribute("aria-valuenow", re.compile(r"^[1-9]"))
    expect(row.get_by_role("link", name="writer").first).to_be_visible()

    # Nothing waits in it, so nobody has to look at it.
    expect(page.locator(".problem", has_text=name)).to_have_count(0)
    page.get_by_role("button", name=f"Resume {name}").click()
    expect(page.get_by_text(f"The queue {name} is resumed.")).to_be_visible()

    asked = unfold(page, labels.STOP_DIALOG)
    asked.get_by_label("Reason").fill("a drill")
    asked.get_by_role("button", name=labels.STOP).click()
    stopped = page.get_by_role("alert").filter(has_text=workspace.slug)
    expect(stopped).to_contain_text("a drill")
    assert [*faults(page)] == [], "accessible while something is stopped, too"
    stopped.get_by_role("button", name=labels.RESUME).click()
    expect(stopped).to_have_count(0)

    asked = unfold(page, "Stop a tool")
    asked.get_by_role("combobox", name="Tool", exact=True).select_option("http_request")
    asked.get_by_label("Reason").fill("a leak")
    asked.get_by_role("button", name="Stop the tool").click()
    tool = page.get_by_role("alert").filter(has_text="http_request")
    expect(tool).to_contain_text(f"The tool http_request in {workspace.slug} is stopped")
    expect(tool).to_contain_text("a leak")
    expect(page.get_by_text("heartbit fleet enable-tool")).to_have_count(0)
    tool.get_by_role("button", name="Start it again").click()
    expect(tool).to_have_count(0)

    # Everything is stopped only by a word.
    asked = unfold(page, "Stop everything")
    asked.get_by_label("Type stop").fill("no")
    asked.get_by_role("button", name="Stop everything").click()
    assert not Pause.objects.filter(kind="all").exists()
    cancel_run(workspace, run, reason="the test is over")


def test_given_a_paused_queue_in_which_a_run_waits_then_the_page_offers_to_let_it_go_on(
    visitors: Visitors, workspace: Workspace
) -> None:
    name = f"q{secrets.token_hex(4)}"
    pause_work(queue(name), by=SYSTEM, reason="new paper")
    Agent.objects.filter(workspace=workspace, name="writer").update(queue=name)
    run = start_run(workspace, "Print.", agent="writer")
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("health/fleet/")
    alert = page.locator(".problem", has_text=f"The queue {name} is paused")
    expect(alert).to_contain_text("(new paper): 1 run is blocked in it.")
    expect(page.get_by_text("heartbit fleet resume")).to_have_count(0)
    alert.get_by_role("button", name=labels.RESUME).click()
    expect(page.get_by_text(f"The queue {name} is resumed.")).to_be_visible()
    expect(alert).to_have_count(0)
    cancel_run(workspace, run, reason="the test is over")


def test_given_an_operator_when_draining_a_worker_then_it_leaves(visitors: Visitors) -> None:
    with Worker(queues=f"q{secrets.token_hex(4)}", concurrency=5) as worker:
        visitor = visitors(user=person(operator=True))
        visitor.go("health/fleet/")
        row = visitor.page.get_by_role("row", name=re.compile(f"process {worker.pid}"))
        unfold(row, "Drain").get_by_role("button", name=labels.DRAIN, exact=True).click()
        gone = WorkerHeartbeat.objects.filter(name__endswith=f":{worker.pid}")
        wait_until(lambda: gone.get().left_at is not None, what="it left")
        expect(row).to_have_count(0)
        life = visitor.page.get_by_role("img", name=re.compile(f":{worker.pid}: left"))
        expect(life).to_be_visible()


def test_given_an_admin_of_a_workspace_then_the_fleet_is_not_theirs(
    visitors: Visitors, workspace: Workspace
) -> None:
    visitor = visitors(user=member(workspace))
    visitor.go("health/")
    expect(visitor.page.get_by_role("heading", name="Health")).to_be_visible()
    assert visitor.page.get_by_role("link", name="Workers and queues").count() == 0
    visitor.expect("403")
    answer = visitor.go("health/fleet/")
    assert answer is not None
    assert answer.status == 403
