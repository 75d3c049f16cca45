"""What a person does with a run that killed its workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from agents.actions.runs import discard_run, retry_run, unquarantine_run
from agents.errors import CallClosedError, RunStateError
from agents.models import Agent, Run, RunEvent, WorkerHeartbeat
from agents.runs.claims import GENERATION
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from heartbit_site.first_start import default_workspace
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import Worker

ME, YOU = Actor("me", "web"), Actor("you", "web")
NOWHERE = "nobody-serves-this"


def quarantined(workspace: Workspace, task: str = "[[text: Done.]]") -> Run:
    """A run whose worker died with it alone in its hands."""
    with transaction.atomic(), connection.cursor() as cursor:  # so that no worker takes it
        run_id = start_run(workspace, task, agent="writer", model="openai:fake")
        worker = WorkerHeartbeat.objects.create(
            name="dead:1", queues=[NOWHERE], slots=1, lease_seconds=3600
        )
        cursor.execute(
            "SELECT run_id FROM heartbit_claim("
            "%s, 'fleet', %s, %s, 'dead:1', 'task', 'openai:fake', '', %s, true)",
            [run_id, [NOWHERE], worker.pk, GENERATION],
        )
        assert cursor.fetchone() == (run_id,)
        cursor.execute("SELECT * FROM heartbit_recover(%s, 1)", [worker.pk])
    run = Run.objects.get(pk=run_id)
    assert run.status == "quarantined"
    return run


@pytest.fixture
def poison(workspace: Workspace) -> Run:
    return quarantined(workspace)


def told_of(run: Run) -> list[tuple[str, str, Any]]:
    """What the audit has of a run: what, who, more."""
    rows = AuditEntry.objects.filter(target=f"run:{run.pk}").order_by("id")
    return [(row.action, row.actor, row.details) for row in rows]


def test_discarded_it_is_settled_once(poison: Run) -> None:
    discard_run(poison, by=ME)
    poison.refresh_from_db()
    assert poison.status == "cancelled"
    assert RunEvent.objects.get(run=poison, type="run.discarded").payload == {"by": "me"}
    with pytest.raises(CallClosedError, match="not in quarantine"):
        discard_run(poison, by=YOU)
    with pytest.raises(CallClosedError, match="not in quarantine"):
        unquarantine_run(poison, by=YOU)
    assert told_of(poison) == [("run.discard", "me", {})]


def test_retried_its_task_is_a_new_run_and_it_is_discarded(worker: Worker, poison: Run) -> None:
    again = Run.objects.get(pk=retry_run(poison, by=ME))
    assert (again.task, again.version_id) == (poison.task, poison.version_id)
    assert again.forked_from_id == poison.pk
    wait_until(lambda: Run.objects.get(pk=again.pk).output == "Done.", what="done")
    with pytest.raises(CallClosedError):
        retry_run(poison, by=ME)
    poison.refresh_from_db()
    assert poison.status == "cancelled"
    assert told_of(poison) == [("run.retry", "me", {"run": str(again.pk), "discarded": True})]


def test_a_live_run_is_not_retried(workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace).update(queue=NOWHERE)
    run = Run.objects.get(pk=start_run(workspace, "x", agent="writer"))
    with pytest.raises(RunStateError, match="has not ended"):
        retry_run(run, by=ME)


def test_resumed_it_goes_on_where_it_was_alone(worker: Worker, poison: Run) -> None:
    unquarantine_run(poison, by=ME)
    wait_until(
        lambda: Run.objects.get(pk=poison.pk).output == "Done.", seconds=40, what="done alone"
    )
    last = RunEvent.objects.filter(run=poison, type="run.started").order_by("seq").last()
    assert last is not None
    assert last.payload["task_id"].startswith("alone-")
    assert told_of(poison) == [("run.resume", "me", {})]


def test_the_commands_settle_it(worker: Worker, heartbit: Command) -> None:
    workspace = default_workspace()
    first, second = quarantined(workspace), quarantined(workspace)
    listed = heartbit("runs", "list", "--status", "quarantined", "--json")
    assert {str(first.pk), str(second.pk)} <= {row["id"] for row in listed.json["runs"]}
    retried = heartbit("runs", "retry", str(first.pk))
    assert retried.code == 0, retried.err
    assert Run.objects.get(pk=retried.out.strip()).forked_from_id == first.pk
    assert heartbit("runs", "discard", str(second.pk)).out == f"Run {second.pk} is discarded.\n"
    refused = heartbit("runs", "unquarantine", str(second.pk))
    assert refused.code == 2
    assert "not in quarantine" in refused.err


def test_health_says_how_many_there_are_and_leads_to_them(
    poison: Run, admin_browser: Client
) -> None:
    shown = admin_browser.get(f"/w/{poison.workspace.slug}/health/").content.decode()
    assert "1 run is quarantined</a>: retry, resume or discard" in shown
    listed = admin_browser.get(
        f"/w/{poison.workspace.slug}/runs/?status=quarantined"
    ).content.decode()
    assert f"/w/{poison.workspace.slug}/runs/{poison.pk}/" in listed
