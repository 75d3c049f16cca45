"""One journey for each kind of user: somebody who clicks and types, and never opens a terminal.

What a journey starts from (accounts, agents and runs of others) is made behind its back; all that
its person does, they do in the browser.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run
from tests.chaos.processes import EffectsServer
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.web import labels
from tests.web.journeys import journey_time
from tests.web.people import member, person

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.web.conftest import Visitors

__all__ = ["journey_time"]

PASSWORD = "one-right-word"
MODEL, STRONGER = "openai:gpt-5-mini", "openai:gpt-5"  # their prices are known
RULE = '{"properties": {"expression": {"pattern": "[*]"}}}'
SUM = (
    'What is 6 times 7? [[calls: calculate {"expression": "6*7"}]]'
    " [[text: It is **forty-two**, as everybody knows.]] [[stream: 1500]] [[chunks: 40]]"
)
ASKED, EDITED = "refund 283.50 EUR", "refund 250.00 EUR"
PLAN = (
    'Plan the week. [[delegate: {"agent": "researcher", "task": "Read. [[text: It rains.]]"},'
    ' {"agent": "writer", "task": "Write. [[text: Bring a coat, and an umbrella.]]"}]]'
)
TEAM = ("researcher", "writer")


@dataclass(frozen=True, slots=True)
class Till:
    """A service that remembers what it was asked to do, and a queue from which it is reached."""

    url: str
    ledger: Path
    queue: str

    def asked(self) -> list[str]:
        """What for, in order."""
        return [json.loads(line)["op"] for line in self.ledger.read_text().splitlines()]


@pytest.fixture(scope="module")
def till(site: WebServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Till]:
    ledger, queue = tmp_path_factory.mktemp("till") / "effects.jsonl", f"q{secrets.token_hex(4)}"
    with EffectsServer(ledger=ledger) as server:
        reach = {"HEARTBIT_HTTP_ALLOWLIST": server.url.removeprefix("http://")}
        with Worker(queues=queue, concurrency=5, environment=reach):
            yield Till(server.url, ledger, queue)


def published(
    workspace: Workspace, name: str, *, team: tuple[str, ...] = (), **settings: Any
) -> Agent:
    """An agent as somebody left it; one that is there already is changed."""
    agent, _ = Agent.objects.update_or_create(
        workspace=workspace, name=name, defaults={"system_prompt": "Be brief.", **settings}
    )
    agent.team.set(Agent.objects.filter(workspace=workspace, name__in=team))
    publish_agent(agent)
    return agent


def colleague(workspace: Workspace, role: str) -> User:
    """A member with a password who may enter the admin as well."""
    user = member(workspace, role, password=PASSWORD)
    User.objects.filter(pk=user.pk).update(is_staff=True)
    return user


def log_in(page: Page, user: User) -> None:
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def go_to(page: Page, place: str) -> None:
    """By the navigation of our pages."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name=place).click()


def to_fleet(page: Page) -> None:
    """The workers and queues, beside the figures of health."""
    go_to(page, "Health")
    page.get_by_role("link", name="Workers and queues").click()


def start_here(page: Page, task: str) -> None:
    """Ask the reporter, on the list of runs."""
    go_to(page, "Runs")
    page.get_by_role("button", name="New run").click()
    dialog = page.get_by_role("dialog", name="New run")
    dialog.get_by_label("Agent").select_option("reporter")
    dialog.get_by_label("Task").fill(task)
    dialog.get_by_role("button", name="Start").click()


def status_of(page: Page) -> Locator:
    """Of the run whose page it is."""
    return page.locator(".head .pill")


def fact(page: Page, name: str) -> Locator:
    return page.locator(f"dl.facts dt:text-is('{name}') + dd")


def test_given_an_author_when_making_agents_in_the_admin_then_one_is_started_and_watched(
    worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    author = colleague(workspace, "editor")
    visitor = visitors()
    page = visitor.page
    visitor.go("runs/")
    log_in(page, author)
    go_to(page, "Agents")
    page.get_by_role("link", name="New agent").click()
    page.get_by_role("link", name="Customer support").click()
    page.get_by_role("button", name="Create and open the studio").click()
    expect(page.get_by_text("is published as v1")).to_be_visible()
    expect(page.get_by_role("heading", name="Test the draft")).to_be_visible()
    page.goto(f"{visitor.url}/admin/agents/agent/")
    page.get_by_role("link", name="Add from a template").click()
    page.get_by_role("link", name="Data analyst").click()
    expect(page.locator("#id_name")).to_have_value("data-analyst")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Published: runs from now on use v1.")).to_be_visible()

    page.get_by_role("link", name="Add from a template").click()
    page.get_by_role("link", name="Start with an empty form").click()
    page.locator("#id_name").fill("reckoner")
    page.locator("#id_system_prompt").fill("You do sums.")
    page.locator("#agent_form nav").get_by_text("Model", exact=True).click()
    page.locator("#id_model").fill(MODEL)
    page.locator("#tabs-items").get_by_text("Tools").click()
    page.get_by_role("link", name="Add another tool").click()
    page.locator("#id_bindings-0-tool").select_option("calculate")
    page.locator("#id_bindings-0-approval").select_option("when")
    page.locator("#id_bindings-0-approval_when").fill(RULE)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Published: runs from now on use v1.")).to_be_visible()

    page.locator("#result_list").get_by_role("link", name="reckoner").click()
    page.get_by_role("link", name="Run now").click()
    page.locator("#dialog").get_by_label("Task").fill(SUM)
    page.locator("#dialog").get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", name="reckoner")).to_be_visible()
    card = page.locator("article.asked")
    expect(card).to_contain_text("6*7")
    card.get_by_role("button", name="Approve").click()
    running = page.locator("#run:has(.head .pill:text-is('Running'))")
    expect(running.locator(".writing")).to_contain_text("It is forty")
    expect(page.locator(".answer strong")).to_have_text("forty-two")
    expect(status_of(page)).to_have_text("Succeeded")
    expect(fact(page, "Model")).to_have_text(MODEL)
    expect(fact(page, "Cost")).to_have_text(re.compile(r"^\$0\.0\d+$"))


def test_given_an_approver_when_a_call_waits_then_it_runs_as_edited_and_the_page_says_who(
    visitors: Visitors, till: Till, workspace: Workspace
) -> None:
    cashier = published(workspace, "cashier", queue=till.queue)
    cashier.bindings.create(tool="http_request", approval="always")
    publish_agent(cashier)
    approver = member(workspace, "operator")  # of the roles that may decide, the one with least
    visitor = visitors(user=approver)
    page = visitor.page
    visitor.go("runs/")
    badge = page.locator("#waiting")
    expect(page.get_by_text("Nothing has run here yet.")).to_be_visible()
    expect(badge).to_be_hidden()
    asked = {"method": "POST", "url": f"{till.url}/refund", "body": json.dumps({"op": ASKED})}
    task = f"Pay it back. [[calls: http_request {json.dumps(asked)}]] [[text: Paid.]]"
    start_run(workspace, task, agent="cashier", model=MODEL)
    expect(badge).to_have_text("1")
    for closed in ("Tools", "Settings"):
        expect(page.get_by_role("link", name=closed)).to_have_count(0)

    go_to(page, "Inbox")
    card = page.get_by_role("article")
    expect(card).to_contain_text(ASKED)
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("body").fill(json.dumps({"op": EDITED}))
    card.get_by_role("button", name=labels.REVIEW).click()
    change = card.get_by_role("row", name=re.compile("body"))
    expect(change.locator("del")).to_contain_text(ASKED)
    expect(change.locator("ins")).to_contain_text(EDITED)
    card.get_by_role("button", name="these changes").click()
    expect(page.get_by_text(labels.NOTHING_WAITS)).to_be_visible()
    expect(badge).to_be_hidden()

    go_to(page, "Runs")
    page.get_by_role("link", name="cashier").click()
    expect(status_of(page)).to_have_text("Succeeded")
    assert till.asked() == [EDITED]
    call = page.locator(".call")
    call.locator("summary").click()
    expect(call).to_contain_text(f"arguments by {approver.username}")
    expect(call).to_contain_text("What ran instead")
    expect(call).to_contain_text("(web) at")
    seen = call.inner_text()
    page.reload()
    call.locator("summary").click()
    expect(call).to_contain_text("(web) at")
    assert call.inner_text() == seen


def test_given_an_analyst_when_a_run_failed_then_they_read_why_and_what_it_cost_and_fork_it(
    worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    for name in TEAM:
        published(workspace, name, model=MODEL)
    published(workspace, "planner", team=TEAM, model=MODEL, max_turns=1)
    failed = start_run(workspace, PLAN, agent="planner")
    wait_until(Run.objects.filter(pk=failed, status="failed").exists, what="it failed")
    published(workspace, "planner", team=TEAM, model=STRONGER, max_turns=5)
    visitor = visitors(user=colleague(workspace, "operator"))
    page = visitor.page
    visitor.go("runs/")
    page.get_by_role("combobox", name="Status").select_option("failed")
    page.get_by_role("link", name="planner").click()

    expect(page.get_by_role("heading", name="How it ended")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("Limit of model calls. Stopped after 1 turn")
    priced = re.compile(r"^\$0\.0\d+$")
    for name in TEAM:
        node = page.get_by_role("link", name=f"{name} succeeded")
        expect(node.locator(".spent")).to_have_text(priced)
        node.click()
        run = Run.objects.get(parent_id=failed, agent=name)
        used = f"{run.input_tokens:,} in, {run.output_tokens:,} out"
        expect(fact(page, "Tokens")).to_have_text(used)
        expect(fact(page, "Cost")).to_have_text(priced)
    page.get_by_role("link", name="planner failed").click()
    expect(fact(page, "Cost with sub-agents")).to_have_text(priced)

    page.get_by_role("link", name="Fork", exact=True).click()
    expect(page.get_by_role("heading", name=labels.FORK_DIALOG)).to_be_visible()
    expect(page.get_by_label(labels.FORK_START)).to_have_value("1")
    page.get_by_label("Version of planner").select_option("version 2, the current one")
    task = page.get_by_role("textbox", name="Task", exact=True)
    expect(task).to_have_value(PLAN)
    task.fill("Say what to bring. [[text: An umbrella.]]")
    page.get_by_role("button", name="Fork", exact=True).click()
    page.wait_for_url(lambda address: str(failed) not in address)
    fork = page.url
    expect(status_of(page)).to_have_text("Succeeded")
    expect(page.locator(".answer")).to_contain_text("An umbrella.")
    expect(fact(page, "Model")).to_have_text(STRONGER)
    fact(page, "Begun with").get_by_role("link").click()
    expect(fact(page, "Run")).to_have_text(str(failed))
    expect(fact(page, "Forks")).to_contain_text("after turn 1")
    fact(page, "Forks").get_by_role("link").click()
    page.wait_for_url(fork)

    go_to(page, "Runs")
    for status in ("failed", "succeeded"):
        page.get_by_role("combobox", name="Status").select_option(status)
        expect(page.locator("table.runs tbody .pill")).to_have_text([status.capitalize()])


def test_given_an_operator_when_running_the_fleet_then_runs_wait_go_on_and_say_why(
    visitors: Visitors, workspace: Workspace
) -> None:
    queue = f"q{secrets.token_hex(4)}"
    published(workspace, "reporter", queue=queue)
    operator = person(operator=True)
    visitor = visitors(user=operator)
    page = visitor.page
    visitor.expect("status of 409")  # a run that is refused
    with Worker(queues=queue, concurrency=4) as own:
        visitor.go("health/fleet/")
        row = page.get_by_role("row", name=re.compile(f"process {own.pid}"))
        expect(row).to_contain_text("Alive")
        expect(row).to_contain_text("0 of 4")
        expect(row).to_contain_text(re.compile(r"\d m?s ago"))

        asked = page.locator(f"#pause-{queue}")
        asked.locator("summary").click()
        asked.get_by_label("Reason").fill("new paper")
        asked.get_by_role("button", name="Pause the queue").click()
        expect(page.get_by_text(f"The queue {queue} is paused.")).to_be_visible()
        start_here(page, "Count. [[text: One, two.]]")
        expect(status_of(page)).to_have_text("Queued")
        hint = page.locator("p.hint:visible")
        expect(hint).to_contain_text(f"{queue} was paused by {operator.username} (new paper)")
        to_fleet(page)
        page.get_by_role("button", name=f"Resume {queue}").click()
        expect(page.get_by_text(f"The queue {queue} is resumed.")).to_be_visible()
        go_to(page, "Runs")
        page.get_by_role("link", name="reporter").click()
        expect(status_of(page)).to_have_text("Succeeded")

        to_fleet(page)
        asked = page.locator("details.ask", has_text=labels.STOP_DIALOG)
        asked.locator("summary").click()
        asked.get_by_label("Reason").fill("a drill")
        asked.get_by_role("button", name=labels.STOP).click()
        stopped = page.get_by_role("alert").filter(has_text=workspace.slug)
        expect(stopped).to_contain_text("a drill")
        start_here(page, "Count again.")
        refused = page.get_by_role("dialog").get_by_role("alert")
        expect(refused).to_contain_text("an operator ends that on the page Health")
        page.get_by_role("button", name="Close").click()
        to_fleet(page)
        stopped.get_by_role("button", name=labels.RESUME).click()
        expect(stopped).to_have_count(0)

        start_here(page, "Count to the end. [[hang: headers]]")
        expect(status_of(page)).to_have_text("Running")
        held = page.url
        to_fleet(page)
        expect(row.get_by_role("link", name="reporter")).to_be_visible()
        row.locator("summary").click()
        row.get_by_role("button", name=labels.DRAIN).click()
        expect(row).to_have_count(0)
        go_to(page, "Runs")
        page.get_by_role("link", name=re.compile("Count to the end")).click()
        page.wait_for_url(held)
        expect(status_of(page)).to_have_text("Queued")
        expect(page.get_by_text("Back in the queue")).to_be_visible()
        expect(hint).to_contain_text(f"queue {queue}")
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Cancel the run").click()
        expect(status_of(page)).to_have_text("Cancelled")
