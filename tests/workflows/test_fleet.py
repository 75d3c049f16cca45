"""Workflows on the fleet: a worker is killed, or does not have a function."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from agents.actions.save_agent import create_agent
from agents.actions.waits import resolve_call
from agents.choices import CallResolution, RunStatus
from agents.models import Run
from agents.runtime.execution import workflow_complaints
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.workflows import shop
from tests.workflows.shop import agent_workflows

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.usefixtures("database")
registry = ExecutorRegistry()
registry.add_all(vars(agent_workflows).values())
ENVIRONMENT = {"HEARTBIT_EXTRA_APPS": shop.__name__, "HEARTBIT_LEASE_SECONDS": "3"}


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process publishes what the workers run."""
    monkeypatch.setattr(workflow_complaints, "installed_executors", lambda: registry)


def publish(workspace: Workspace) -> str:
    """Publish a workflow with a queue of its own; return the queue."""
    queue = f"shop-{secrets.token_hex(4)}"
    content = {
        "name": "traces",
        "queue": queue,
        "state": {"traces": {"merge": "add", "initial": 0}},
        "nodes": {
            "before": {"function": "leave_trace"},
            "hold": {"function": "wait_while_held"},
            "after": {"function": "leave_trace"},
        },
        "start": "before",
        "edges": [
            {"from": "before", "to": "hold"},
            {"from": "hold", "to": "after"},
            {"from": "after", "output": "{{ state.traces }}"},
        ],
    }
    create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)
    return queue


def is_over(run: Run) -> bool:
    return Run.objects.filter(pk=run.pk, finished_at__isnull=False).exists()


def test_a_worker_that_is_killed_in_a_superstep_repeats_no_node_that_ended(
    workspace: Workspace, tmp_path: Path
) -> None:
    queue, hold = publish(workspace), tmp_path / "hold"
    hold.touch()
    run = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="traces"))
    with Worker(queues=queue, environment=ENVIRONMENT) as first:
        wait_until((tmp_path / "held").exists)
        first.kill()
    hold.unlink()
    with Worker(queues=queue, environment=ENVIRONMENT):
        wait_until(lambda: is_over(run))
    run.refresh_from_db()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "2"), run.error
    assert (tmp_path / "traces").read_text().splitlines() == [f"{run.pk}:0.0", f"{run.pk}:2.0"]


def test_a_worker_without_the_function_leaves_the_run_to_one_that_has_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    queue = publish(workspace)
    run = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="traces"))
    with Worker(queues=queue):
        wait_until(lambda: run.events.filter(type="run.requeued").exists())
    Run.objects.filter(pk=run.pk).update(available_at=run.created_at)  # it need not wait here
    with Worker(queues=queue, environment=ENVIRONMENT):
        wait_until(lambda: is_over(run))
    run.refresh_from_db()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "2"), run.error


def test_a_person_says_what_became_of_a_function_whose_worker_was_killed(
    workspace: Workspace, tmp_path: Path
) -> None:
    queue, hold, traces = f"shop-{secrets.token_hex(4)}", tmp_path / "hold", tmp_path / "traces"
    content = {
        "name": "risky",
        "queue": queue,
        "nodes": {"risk": {"function": "risk_it"}},
        "start": "risk",
        "edges": [{"from": "risk", "output": "{{ message.paid }}"}],
    }
    create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)
    hold.touch()
    run = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="risky"))
    with Worker(queues=queue, environment=ENVIRONMENT) as first:
        wait_until(traces.exists)
        first.kill()
    hold.unlink()
    with Worker(queues=queue, environment=ENVIRONMENT):
        wait_until(lambda: run.calls.filter(status="uncertain").exists())
        call = run.calls.get()
        resolve_call(call, CallResolution.CONFIRMED, by=SYSTEM, result='{"paid": 3}')
        wait_until(lambda: is_over(run))
    run.refresh_from_db()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "3"), run.error
    assert traces.read_text() == "risked\n"
