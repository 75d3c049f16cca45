"""A kind of wait that one declaration adds is played everywhere (`tests.web.signals`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.waits import notify_approvers
from agents.choices import DeliveryStatus
from agents.models import Agent, NotifiedBrowser, RunEvent, ToolBinding, ToolCall, Wait
from heartbit_site.base.models import AuditEntry
from tests.api.server import Caller, WebServer, key_for
from tests.fleet import Worker, wait_until
from tests.mailbox import receiving_mail
from tests.web.people import member
from tests.web.signals import agent_tools
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.web.conftest import Visitors

EXTRA = "tests.web.signals"
APP = {"HEARTBIT_EXTRA_APPS": EXTRA}
WAITS = '[[calls: await_signal {"track": 7%s}]] [[text: Off we go.]]'


@pytest.fixture(scope="module")
def site() -> Iterator[WebServer]:
    with WebServer(HEARTBIT_EXTRA_APPS=EXTRA) as server:
        yield server


@pytest.fixture(scope="module")
def worker(worker: Worker) -> Iterator[Worker]:
    """A worker alone: that of other files' tests does not know the kind of wait."""
    worker.stop()
    with Worker(queues="signals,system", concurrency=4, environment=APP) as process:
        yield process
    worker.start()


@pytest.fixture
def caller(site: WebServer, workspace: Workspace) -> Iterator[Caller]:
    found = Caller(site, key_for(workspace))
    with found.http:
        yield found


@pytest.fixture(autouse=True)
def signalman(workspace: Workspace, worker: Worker) -> Iterator[None]:
    """An agent that waits for signals, on a queue that only this worker serves."""
    registry.discover([agent_tools])
    row = Agent.objects.create(
        workspace=workspace, name="signalman", system_prompt="Wait.", queue="signals"
    )
    tools = ("await_signal", "misuse")
    ToolBinding.objects.bulk_create(ToolBinding(agent=row, tool=name) for name in tools)
    publish_agent(row)
    yield
    for name in tools:
        del registry[name]


def waiting(caller: Caller, more: str = "") -> dict[str, Any]:
    """A run that waits for a signal, as GET /waits shows it."""
    run = caller.submit(WAITS % more, agent="signalman")["id"]
    found = wait_until(
        lambda: [one for one in caller.get("/waits").json()["waits"] if one["run_id"] == run],
        what="it waits",
    )
    assert isinstance(found[0], dict)
    return found[0]


def told(caller: Caller, run: str) -> list[dict[str, Any]]:
    """The lines of the run's stream."""
    text = caller.get(f"/runs/{run}/events", follow="false").text
    found = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in found]


def result_of(run: str) -> str | None:
    return ToolCall.objects.get(run_id=run).result


def test_it_is_shown_and_answered_in_the_inbox_and_told_on_the_page_of_the_run(
    caller: Caller, visitors: Visitors, workspace: Workspace
) -> None:
    wait = waiting(caller)
    assert (wait["kind"], wait["label"], wait["tool"]) == ("signal", "Signal", "await_signal")
    visitor = visitors(user=member(workspace))
    visitor.go(f"runs/{wait['run_id']}/")
    page = visitor.page
    expect(page.get_by_label("Waits for a person").get_by_role("heading")).to_have_text("Signal")
    visitor.go("inbox/")
    card = page.get_by_role("article", name="Signal of signalman")
    expect(card).to_contain_text("await_signal")
    card.get_by_label("Answer").last.fill("g")
    card.get_by_role("button", name="Answer").click()
    expect(card.get_by_role("alert")).to_contain_text("at least 2 are needed")
    card.get_by_label("Answer").last.fill("green")
    card.get_by_role("button", name="Answer").click()
    assert caller.ended(wait["run_id"])["result"]["text"] == "Off we go."
    assert result_of(wait["run_id"]) == "The signal is green."
    visitor.go(f"runs/{wait['run_id']}/")
    expect(page.get_by_text("await_signal").first).to_be_visible()
    titles = [line["title"] for line in told(caller, wait["run_id"]) if "title" in line]
    name = 'await_signal {"track": 7}'
    assert f"Waits for {name}" in titles
    assert any(title.startswith("Answered by") and title.endswith(name) for title in titles)
    entry = AuditEntry.objects.get(target=f"run:{wait['run_id']}", action="wait.answer")
    assert entry.label == "Signal"


def test_a_command_lists_and_answers_it(
    caller: Caller, heartbit: Command, workspace: Workspace
) -> None:
    wait = waiting(caller)
    env = {**APP, "HEARTBIT_WORKSPACE": workspace.slug}
    listed = heartbit("answer", env=env)
    assert "Signal" in listed.out
    assert wait["key"] in listed.out
    wrong = heartbit("answer", wait["run_id"], '"g"', env=env)
    assert wrong.code == 2
    assert "shorter than 2 characters" in wrong.err
    right = heartbit("answer", wait["run_id"], '"red"', env=env)
    assert right.out == "Answered: Signal of signalman.\n"
    caller.ended(wait["run_id"])
    assert result_of(wait["run_id"]) == "The signal is red."
    late = caller.post(f"/runs/{wait['run_id']}/waits/{wait['key']}", {"answer": "green"})
    assert late.status_code == 409


def test_a_run_at_a_terminal_says_how_it_is_answered(
    heartbit: Command, workspace: Workspace
) -> None:
    env = {**APP, "HEARTBIT_WORKSPACE": workspace.slug}
    process = heartbit.start("run", WAITS % "", "--agent", "signalman", env=env)
    assert process.stderr is not None
    line = next(line for line in process.stderr if "heartbit answer" in line)
    assert line.startswith("signalman waits for a signal: ")
    command = line.rpartition("heartbit ")[2].split()
    assert heartbit(*command, '"green"', env=env).code == 0
    assert heartbit.end(process).out == "Off we go.\n"


def test_it_expires(caller: Caller) -> None:
    wait = waiting(caller, ', "seconds": 0.5')
    caller.ended(wait["run_id"])
    assert result_of(wait["run_id"]) == "None came."
    resolved = RunEvent.objects.get(run=wait["run_id"], type="wait.resolved")
    assert (resolved.payload["kind"], resolved.payload["call_id"]) == ("signal", "1.0")


def test_a_tool_waits_for_no_kind_that_something_else_opens(caller: Caller) -> None:
    run = caller.submit("[[calls: misuse {}]] [[text: Well.]]", agent="signalman")["id"]
    assert caller.ended(run)["result"]["text"] == "Well."
    assert result_of(run) == "There is no kind of wait 'approval' for tools: declare it."


def test_browsers_are_notified_without_mail_and_people_are_written_to(
    caller: Caller, workspace: Workspace, settings: Settings
) -> None:
    person = member(workspace)
    person.email = "ann@example.org"
    person.save()
    browser = NotifiedBrowser.objects.create(
        workspace=workspace,
        user=person,
        endpoint="https://push.example.org/ann",
        status=DeliveryStatus.DELIVERED,
    )
    wait = waiting(caller)

    def is_due() -> bool:
        browser.refresh_from_db()
        return browser.status == DeliveryStatus.PENDING

    wait_until(is_due, what="the worker has the browser notified")
    browser.delete()
    Wait.objects.filter(run=wait["run_id"]).update(announced_at=None)
    with receiving_mail() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        assert notify_approvers(wait["run_id"]) == 1
    assert Wait.objects.get(run=wait["run_id"]).asks_person
    caller.post(f"/runs/{wait['run_id']}/cancel")
