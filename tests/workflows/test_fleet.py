"""Workflows on the fleet: a worker is killed, or does not have a function."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.runs import cancel_run
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
    publish_graph(workspace, **content)
    return queue


def publish_graph(workspace: Workspace, **content: Any) -> None:
    """Publish a workflow."""
    create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)


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


def test_a_run_that_is_cancelled_in_a_superstep_has_no_effect_after(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Conformance case 10: a function, a child at work and one that nobody serves."""
    queue, state = f"shop-{secrets.token_hex(4)}", {"traces": {"merge": "add", "initial": 0}}
    hold, after = {"function": "wait_while_held"}, {"function": "leave_trace"}
    for name, served in (("inner", queue), ("far", f"{queue}-unserved")):
        edges = [{"from": "hold", "to": "after"}]
        graph = {"nodes": {"hold": hold, "after": after}, "start": "hold", "edges": edges}
        publish_graph(workspace, name=name, queue=served, state=state, **graph)
    task = {"task": "{{ input }}/child"}
    nodes = {"hold": hold, "inner": {"workflow": "inner"} | task, "far": {"workflow": "far"} | task}
    publish_graph(
        workspace,
        name="outer",
        queue=queue,
        order="barrier",
        state=state,
        nodes=nodes | {"after": after},
        start=list(nodes),
        edges=[{"from": name, "to": "after", "message": "{{ input }}"} for name in nodes],
    )
    folders = (tmp_path, tmp_path / "child")
    folders[1].mkdir()
    for folder in folders:
        (folder / "hold").touch()
    run_id = start_run(workspace, str(tmp_path), agent="outer")
    tree = Run.objects.filter(root=run_id)
    with Worker(queues=queue, environment=ENVIRONMENT):
        wait_until(lambda: all((folder / "held").exists() for folder in folders))
        cancel_run(workspace, run_id, reason="enough")
        for folder in folders:
            (folder / "hold").unlink()
        wait_until(lambda: not tree.filter(finished_at=None).exists())
    assert [run.status for run in tree] == [RunStatus.CANCELLED] * 3
    for run in tree:
        types = list(run.events.order_by("seq").values_list("type", flat=True))
        assert (types[-1], types.count("run.cancelled")) == ("run.cancelled", 1)
    assert not any((folder / "traces").exists() for folder in folders)


def test_three_hundred_supersteps_of_a_run_are_alike(workspace: Workspace, tmp_path: Path) -> None:
    """Conformance case 8: none writes or keeps more than the one before."""
    number, queue = 300, f"shop-{secrets.token_hex(4)}"
    publish_graph(
        workspace,
        name="long",
        queue=queue,
        state={"traces": {"merge": "add", "initial": 0}},
        nodes={"up": {"function": "leave_trace"}},
        start="up",
        edges=[
            {"from": "up", "to": "up", "when": f"state.traces < {number}"},
            {"from": "up", "output": "{{ state.traces }}", "when": f"state.traces >= {number}"},
        ],
    )
    run = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="long"))
    with Worker(queues=queue, environment=ENVIRONMENT):
        wait_until(lambda: is_over(run), seconds=60)
    run.refresh_from_db()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, str(number)), run.error
    assert run.events.filter(type="run.started").count() == 1
    assert len(set((tmp_path / "traces").read_text().splitlines())) == number
    sizes: list[Counter[str]] = [Counter()]
    for event in run.events.exclude(type__startswith="run.").order_by("seq"):
        event.payload.pop("duration_ms", None)
        sizes[-1][event.type] += len(json.dumps(event.payload))
        if event.type == "graph.committed":
            sizes.append(Counter())
    # The numbers of these supersteps have as many digits; the last one ends the run.
    assert sizes[number - 1] == sizes[number // 2], sizes[number // 2]
    assert all(sizes[step] == sizes[number // 2] for step in range(number // 2, number))


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
    publish_graph(workspace, **content)
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
