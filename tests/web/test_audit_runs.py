"""Whoever stops, tells, forks or retries a run is in the audit, once, wherever they do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction

from agents.actions.fork_run import Edits
from agents.actions.runs import cancel_run, retry_run, steer_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy
from agents.errors import CallClosedError
from agents.models import Agent, Run
from heartbit_site.base.audit import Actor, verify
from heartbit_site.base.models import AuditEntry, Role
from tests.api.server import Caller, key_for
from tests.clients import Client
from tests.starts import fork_run, post_message, start_run
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

ADA = Actor("ada", "terminal")
NOWHERE = "nobody-serves-this"


@pytest.fixture
def run(workspace: Workspace) -> Run:
    """One that waits for a worker."""
    Agent.objects.filter(workspace=workspace).update(queue=NOWHERE)
    return Run.objects.get(pk=start_run(workspace, "a canary of a task", agent="writer"))


def told(workspace: Workspace) -> list[tuple[str, str, Any]]:
    """What the audit has of runs, the oldest first."""
    rows = AuditEntry.objects.filter(chain=workspace.pk, action__startswith="run.")
    return [(row.action, row.target, row.details) for row in rows.order_by("number")]


def test_given_a_verb_then_its_entry_names_the_run_and_no_text(
    workspace: Workspace, run: Run
) -> None:
    steer_run(run, "a secret word", by=ADA)
    forked = fork_run(run, 0, edits=Edits(task="a secret task"), by=ADA, idempotency_key="once")
    assert fork_run(run, 0, by=ADA, idempotency_key="once") == forked
    cancel_run(workspace, run.pk, reason="enough", by=ADA)
    cancel_run(workspace, run.pk, reason="again", by=ADA)
    run.refresh_from_db()
    again = retry_run(run, by=ADA)
    target = f"run:{run.pk}"
    assert told(workspace) == [
        ("run.steer", target, {}),
        ("run.fork", target, {"run": str(forked), "turn": 0, "edits": ["task"]}),
        ("run.cancel", target, {"reason": "enough"}),
        ("run.retry", target, {"run": str(again), "discarded": False}),
    ]
    entry = AuditEntry.objects.filter(target=target).latest("id")
    assert (entry.actor, entry.via, entry.label) == ("ada", "terminal", "writer")
    assert verify(workspace) == []


def test_given_what_is_refused_or_undone_then_the_audit_has_nothing_of_it(
    workspace: Workspace, run: Run
) -> None:
    with transaction.atomic():
        cancel_run(workspace, run.pk, reason="a mistake", by=ADA)
        transaction.set_rollback(True)
    assert told(workspace) == []
    cancel_run(workspace, run.pk, reason="enough", by=ADA)
    with pytest.raises(CallClosedError):
        steer_run(run, "Too late.", by=ADA)
    assert [action for action, _, _ in told(workspace)] == ["run.cancel"]


def test_given_a_message_that_steers_or_interrupts_then_that_is_told_once(
    workspace: Workspace, run: Run
) -> None:
    thread = start_conversation(workspace, agent="writer", busy_policy=BusyPolicy.STEER)
    first = post_message(thread, "One.", by=ADA)
    for _ in range(2):
        post_message(thread, "Two.", by=ADA, idempotency_key="two")
    post_message(thread, "Three.", by=ADA, busy_policy=BusyPolicy.QUEUE)
    assert told(workspace) == [("run.steer", f"run:{first.run_id}", {})]
    for _ in range(2):
        interrupt = BusyPolicy.INTERRUPT
        post_message(thread, "Four.", by=ADA, busy_policy=interrupt, idempotency_key="four")
    stopped = [target for action, target, _ in told(workspace) if action == "run.cancel"]
    runs = Run.objects.filter(conversation=thread, status="cancelled")
    assert sorted(stopped) == sorted(f"run:{found.pk}" for found in runs)
    assert len(stopped) == 2


def test_given_a_key_then_the_entry_names_it(
    site: WebServer, workspace: Workspace, run: Run
) -> None:
    path = f"/runs/{run.pk}"
    with Caller(site, key_for(workspace)).http as http:
        assert http.post(f"{path}/steer", json={"text": "Be brief."}).status_code == 200
        assert http.post(f"{path}/fork", json={"turn": 0}).status_code == 201
        assert http.post(f"{path}/cancel").status_code == 200
        assert http.post(f"{path}/cancel").status_code == 200
        assert http.post(f"{path}/retry").status_code == 201
        entries = http.get("/audit", params={"action": "run"}).json()["entries"]
    assert [entry["action"] for entry in reversed(entries)] == [
        *("run.steer", "run.fork", "run.cancel", "run.retry"),
    ]
    assert {(entry["actor"], entry["via"]) for entry in entries} == {("API key test", "api")}


def test_given_a_page_then_there_is_one_entry_of_each_and_it_names_the_person(
    workspace: Workspace, run: Run
) -> None:
    boss = member(workspace, Role.ADMIN)
    client = Client(headers={"host": "localhost", "Heartbit-Workspace": workspace.slug})
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    path = f"/api/v1/runs/{run.pk}"
    forked = client.post(f"{path}/fork", {"turn": 0, "message": "Go on."}, "application/json")
    assert forked.status_code == 201, forked.content[-2000:]
    for action, status in (("cancel", 200), ("retry", 201)):
        assert client.post(f"{path}/{action}").status_code == status
    rows = AuditEntry.objects.filter(chain=workspace.pk).order_by("number")
    assert [(row.action, row.via, row.user_id) for row in rows] == [
        (action, "web", boss.pk) for action in ("run.fork", "run.cancel", "run.retry")
    ]
