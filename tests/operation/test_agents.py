"""Agents are stopped, started and restarted under load, on a real worker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, connection
from django.urls import reverse

from agents.actions.fleet import set_agent_state
from agents.errors import AgentNotFoundError
from agents.models import Agent, Run, RunEvent
from agents.reads.agent_status import statuses as agent_statuses
from heartbit_site.base import audit
from heartbit_site.base.models import AuditEntry
from tests.fleet import wait_until
from tests.operation.conftest import statuses
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.test import Client

    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker

    Submit = Callable[..., UUID]

ROUNDS = 6
TASK = f"[[latency: 120]] [[calls: current_time {{}}]] [[rounds: {ROUNDS}]] [[text: Done.]]"


def answered(runs: list[UUID]) -> int:
    return RunEvent.objects.filter(run__in=runs, type="model.answered").count()


def test_stopped_under_load_it_hands_everything_back_and_loses_nothing(
    worker: Worker, workspace: Workspace, solo: Agent, submit: Submit
) -> None:
    runs = [submit(TASK) for _ in range(12)]
    wait_until(lambda: answered(runs) >= 12, what="all of them at work")
    assert set_agent_state(solo, "stop")
    wait_until(lambda: "running" not in statuses(runs), what="handed back")
    at_rest = answered(runs)
    assert statuses(runs).count("queued") >= 6, "stopped in the middle of their work"
    assert at_rest < 12 * (ROUNDS + 1)
    requeued = RunEvent.objects.filter(run__in=runs, type="run.requeued")
    assert set(requeued.values_list("payload__reason", flat=True)) == {"agent stopped"}
    with pytest.raises(AgentNotFoundError, match="stopped"):
        submit(TASK)
    [found] = agent_statuses(workspace, names=["solo"])
    assert (found.state, found.metrics.uptime_seconds) == ("stopped", 0.0)
    assert found.queue.queued == statuses(runs).count("queued")
    # Other agents' runs pass the parked ones by.
    other = start_run(workspace, "[[text: Prose.]]", agent="writer", model="openai:fake")
    wait_until(lambda: statuses([other]) == ["succeeded"], what="another agent's run")
    assert answered(runs) == at_rest, "nothing moved meanwhile"

    assert set_agent_state(solo, "start")
    wait_until(lambda: set(statuses(runs)) == {"succeeded"}, what="all of them done")
    assert answered(runs) == 12 * (ROUNDS + 1), "no answer was asked for twice, none is missing"
    assert not set_agent_state(solo, "start"), "it is started already"


def test_a_sub_agent_that_is_stopped_keeps_its_orchestrator_waiting(
    worker: Worker, workspace: Workspace
) -> None:
    writer = Agent.objects.get(workspace=workspace, name="writer")
    part = "[[latency: 200]] [[calls: blackboard_list {}]] [[rounds: 8]] [[text: Prose.]]"
    delegated = json.dumps({"agent": "writer", "task": part})
    task = f"[[delegate: {delegated}]] [[text: Done.]]"
    run = start_run(workspace, task, model="openai:fake")
    wait_until(lambda: answered(_children(run)) > 0, what="the sub-agent at work")
    set_agent_state(writer, "stop")
    wait_until(lambda: statuses(_children(run)) == ["queued"], what="handed back")
    with connection.cursor() as cursor:  # its patience is over, were it counted
        cursor.execute("UPDATE agents_wait SET expires_at = now() WHERE run_id = %s", [run])
        cursor.execute("SELECT count(*) FROM heartbit_expire_waits(100)")
    assert statuses([run]) == ["waiting"]
    set_agent_state(writer, "start")
    wait_until(lambda: statuses([run]) == ["succeeded"], what="the orchestrator's answer")


def test_restarted_it_hands_a_hanging_slice_over_at_once(
    worker: Worker, solo: Agent, submit: Submit
) -> None:
    run = submit(f"[[hang: headers times=1]] [[text: Done.]] [[run: solo-{solo.pk}]]")
    wait_until(lambda: statuses([run]) == ["running"], what="at work")
    set_agent_state(solo, "restart")
    wait_until(lambda: statuses([run]) == ["succeeded"], seconds=10, what="taken up anew")
    reasons = RunEvent.objects.filter(run=run, type="run.requeued")
    assert list(reasons.values_list("payload__reason", flat=True)) == ["agent restarted"]
    again = submit("[[text: Done.]]")  # what is claimed after the restart stays where it is
    wait_until(lambda: statuses([again]) == ["succeeded"], what="a later run")
    assert not RunEvent.objects.filter(run=again, type="run.requeued").exists()


def test_tools_that_are_not_what_they_were_are_named(workspace: Workspace, solo: Agent) -> None:
    version = solo.current_version
    assert version is not None
    tools = [
        {**version.snapshot["tools"][0], "hash": "0" * 64},
        {**version.snapshot["tools"][0], "name": "gone_tool"},
    ]
    version.snapshot = {**version.snapshot, "tools": tools}
    version.pk, version.number, version.hash = None, 2, "f" * 64
    version.save(force_insert=True)
    Agent.objects.filter(pk=solo.pk).update(current_version=version)
    [found] = agent_statuses(workspace, names=["solo"])
    assert found.tools.loaded == []
    assert (found.tools.changed, found.tools.unknown) == (["current_time"], ["gone_tool"])


def _children(run: UUID) -> list[UUID]:
    return list(Run.objects.filter(parent=run).values_list("pk", flat=True))


def test_given_an_audit_that_cannot_be_written_then_no_chosen_agent_is_stopped(
    admin_browser: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("analyst", "researcher", "writer")
    agents = Agent.objects.filter(workspace=workspace, name__in=names)
    assert agents.count() == 3
    record = audit.record

    def fail_at_the_second(*given: Any, **named: Any) -> None:
        if AuditEntry.objects.filter(workspace=workspace, action="agent.stop").exists():
            raise OperationalError("no space left on device")
        record(*given, **named)

    monkeypatch.setattr(audit, "record", fail_at_the_second)
    chosen = {"action": "stop", "_selected_action": list(agents.values_list("pk", flat=True))}
    admin_browser.raise_request_exception = False
    answer = admin_browser.post(reverse("admin:agents_agent_changelist"), chosen)
    assert answer.status_code >= 500
    assert not agents.filter(enabled=False).exists()
    assert not AuditEntry.objects.filter(workspace=workspace, action="agent.stop").exists()
