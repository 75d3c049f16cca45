"""Graphs end alike, event by event, in memory, in this process and on the fleet."""

from __future__ import annotations

import asyncio
import json
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.journal.events import decode, encode
from agents.live.follow import wait_for_end
from agents.models import Run
from agents.runtime.execution import workflow_complaints, workflows
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.executors.recording import RecordingContext
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.routing.outcome import GraphSucceeded
from agents.workflows.spec.graph import read_graph
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.workflows import conformance, shop
from tests.workflows.conformance import agent_workflows
from tests.workflows.conformance.cases import CASES, Case
from tests.workflows.driver import Driver, Played, Work, compiled
from tests.workflows.shop import agent_workflows as shop_functions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agents.journal.events import Event
    from agents.workflows.calls import CallInput
    from agents.workflows.graph import Graph
    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

registry = ExecutorRegistry()
registry.add_all([*vars(agent_workflows).values(), *vars(shop_functions).values()])
ENVIRONMENT = {
    "HEARTBIT_EXTRA_APPS": f"{conformance.__name__},{shop.__name__}",
    "HEARTBIT_LEASE_SECONDS": "3",
}
#: No function sends a request.
CLIENT = httpx.AsyncClient()
QUEUE = f"conformance-{secrets.token_hex(4)}"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process publishes and runs what the worker runs."""
    monkeypatch.setattr(workflow_complaints, "installed_executors", lambda: registry)
    monkeypatch.setattr(workflows, "installed_executors", lambda: registry)


@pytest.fixture(scope="module")
def fleet(database: None) -> Iterator[Worker]:
    """A worker that has the functions."""
    with Worker(queues=QUEUE, environment=ENVIRONMENT) as worker:
        yield worker


def publish(workspace: Workspace, name: str, graph: dict[str, Any]) -> None:
    content = {"name": name, "queue": QUEUE, **graph}
    create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)


def play(case: Case) -> Played:
    """Play a graph in memory, with the same functions."""
    graph = compiled(read_graph({"edges": [], **case.graph}))
    work = {name: _work(graph) for name, node in graph.nodes.items() if node.spec.function}
    return Driver(graph, work, input=case.given).play()


def _work(graph: Graph) -> Work:
    def call(given: CallInput) -> NodeFinished:
        handler = registry.find(given.node.subject).run
        context = RecordingContext(
            "", given.node.name, idempotency_key="", http=CLIENT, keys=graph.spec.state, values=None
        )
        returned = handler.target(**handler.arguments(given.message, context))
        return context.finished(handler.result(returned))

    return call


def story(events: list[Event]) -> tuple[list[Any], list[Any]]:
    """Return what nodes and commits decided, without times and the order of completion."""
    finished, commits = [], []
    for event in events:
        stored = encode(event)["payload"]
        if isinstance(event, NodeFinished):
            stored.pop("duration_ms", None)
            finished.append(stored)
        elif isinstance(event, GraphCommitted):
            commits.append(stored)
    return sorted(finished, key=json.dumps), commits


def read(run_id: Any) -> tuple[Run, list[Event]]:
    run = Run.objects.get(pk=run_id)
    rows = run.events.filter(type__in=[NodeFinished.type, GraphCommitted.type]).order_by("seq")
    return run, [decode(row.type, row.payload) for row in rows]


async def ended(run_id: Any) -> None:
    """Wait for the end of a run of the fleet."""
    async with asyncio.timeout(60):
        while not await orm.run_in_thread(
            lambda: Run.objects.filter(pk=run_id, finished_at__isnull=False).exists()
        ):
            await asyncio.sleep(0.02)


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("name", CASES)
async def test_a_graph_ends_alike_everywhere(studio: Studio, name: str) -> None:
    case = CASES[name]
    task = json.dumps(case.given) if not isinstance(case.given, str) else case.given

    def start() -> Any:
        publish(studio.workspace, "case", case.graph)
        return start_run(studio.workspace, task, agent="case", model="")

    played = play(case)
    durable = await orm.run_in_thread(start)
    here = await studio.start(task, agent="case", model="")
    await wait_for_end(here, studio.host.window)
    await ended(durable)
    for run_id in (here, durable):
        run, events = await orm.run_in_thread(partial(read, run_id))
        assert story(events) == story(played.events)
        assert (run.status == RunStatus.FAILED) == case.is_failure, run.error
        if case.is_failure:
            assert run.error is not None
            assert run.error["message"] == played.failure.message
            assert case.output in played.failure.message
        else:
            assert isinstance(played.ending, GraphSucceeded)
            assert played.output == case.output
            assert (run.output if run.structured is None else run.structured) == case.output


def is_alive(worker: Worker) -> bool:
    return worker._process.poll() is None


def is_over(run: Run) -> bool:
    run.refresh_from_db()
    return run.finished_at is not None or run.status == RunStatus.QUARANTINED


def test_a_function_that_ends_its_worker_is_quarantined_and_its_neighbour_ends(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Conformance case 16."""
    queue, hold = f"{QUEUE}-16", tmp_path / "hold"
    for name, function in (("bad", "abort"), ("good", "wait_while_held")):
        nodes = {"one": {"function": function}}
        publish(workspace, name, {"nodes": nodes, "start": "one", "queue": queue})
    hold.touch()
    good = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="good"))
    with Worker(queues=queue, environment=ENVIRONMENT) as first:
        wait_until((tmp_path / "held").exists)
        bad = Run.objects.get(pk=start_run(workspace, "x", agent="bad"))
        wait_until(lambda: not is_alive(first))
    hold.unlink()
    with Worker(queues=queue, environment=ENVIRONMENT) as second:  # it cannot know better yet
        wait_until(lambda: not is_alive(second), seconds=60)
    with Worker(queues=queue, environment=ENVIRONMENT) as third:
        wait_until(lambda: is_over(bad) and is_over(good), seconds=60)
        assert is_alive(third)
    assert bad.status == RunStatus.QUARANTINED, bad.error
    assert (good.status, good.output) == (RunStatus.SUCCEEDED, str(tmp_path)), good.error
