"""R26: whatever write of a workflow's run a worker dies at, the run ends as if none had died."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from agents.actions.save_agent import create_agent
from agents.choices import TERMINAL, Placement, RunStatus
from agents.journal.events.event import decode
from agents.models import Run, RunEvent
from agents.runs.sql_functions import call_function
from agents.runtime.execution import workflow_complaints, workflows
from agents.runtime.execution.host import LocalHost
from agents.workflows.events import GraphCommitted
from agents.workflows.graph import compile_graph
from agents.workflows.routing.outcome import GraphSucceeded
from agents.workflows.validation.validate import find_faults
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.graphs import nodes
from tests.chaos.graphs.deaths import Death, dying
from tests.pace import GaveUp
from tests.starts import start_run
from tests.workflows.driver import Driver, Played

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from uuid import UUID

    from agents.runs.lease import Lease
    from agents.workflows.spec.workflow import WorkflowSpec

#: Graphs whose every write is died at, before it and after it.
SIZES = {"small": 5, "full": 50}
MOST_EVENTS = 40
SECONDS = 60


@dataclass(slots=True)
class Found:
    """Counts of all runs.

    Attributes:
        deaths: Slices that died.
        different: Sentences about runs that ended otherwise, or committed something else.
        doubled: Calls whose effect a server with their keys would have had twice.
        repeated: Calls that were repeated, under the same key.
    """

    runs: int = 0
    deaths: int = 0
    different: list[str] = field(default_factory=list)
    doubled: int = 0
    repeated: int = 0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let slices die, and compare."""
    slug = f"r26-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    found = Found()
    with (
        patch.object(workflows, "installed_executors", lambda: nodes.registry),
        patch.object(workflow_complaints, "installed_executors", lambda: nodes.registry),
    ):
        create_agent(workspace, nodes.child(), by=SYSTEM)
        asyncio.run(_all_graphs(workspace, SIZES[size], seed, found))
    verdict = Verdict(faults=found.different[:20])
    if found.deaths < found.runs / 2:
        verdict.invalid.append(f"in {found.runs} runs only {found.deaths} slices died")
    return report.row(
        "R26",
        runs=found.runs,
        seed=seed,
        figure={"ended_differently": len(found.different), "effects_doubled": found.doubled},
        target={},
        verdict=verdict,
        also={"graphs": SIZES[size], "slices_died": found.deaths, "calls_repeated": found.repeated},
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A published workflow, with the run that is expected of it."""

    host: LocalHost
    workspace: Workspace
    spec: WorkflowSpec
    expected: Played

    @property
    def calls(self) -> int:
        """Number of calls of functions."""
        functions = [node.name for node in self.spec.nodes if node.function]
        return sum(map(self.expected.runs_of, functions))

    def start(self) -> UUID:
        """Accept a run."""
        return start_run(
            self.workspace, "[7]", agent=self.spec.name, model="", home=Placement.LOCAL
        )


async def _all_graphs(workspace: Workspace, graphs: int, seed: int, found: Found) -> None:
    host = LocalHost(slots=8)
    await host.start()
    try:
        random, number = Random(seed), 0  # noqa: S311  repeatable, not secret
        while number < graphs:
            spec = nodes.any_workflow(random, f"g{number}")
            if find_faults(spec.graph):
                continue
            graph = compile_graph(spec.graph)
            expected = Driver(graph, nodes.work(graph), input=[7]).play()
            if len(expected.events) > MOST_EVENTS:
                continue  # most of the others are long enough
            await orm.run_in_thread(partial(create_agent, workspace, spec, by=SYSTEM))
            await _every_write(Case(host, workspace, spec, expected), found)
            number += 1
    finally:
        await host.stop()


async def _every_write(case: Case, found: Found) -> None:
    unharmed = Death()
    await _compare(case, unharmed, found)
    for number in range(1, unharmed.writes + 1):
        for is_after in (False, True):
            await _compare(case, Death(number, is_after), found)


async def _compare(case: Case, death: Death, found: Found) -> None:
    nodes.keys.clear()
    with dying(death):
        run_id = await orm.run_in_thread(case.start)
        run = await _ended(case.host, run_id, death)
    committed = await orm.run_in_thread(lambda: list(_commits(run_id)))
    what = f"{case.spec.name}, died {'after' if death.is_after else 'before'} write {death.number}"
    if committed != case.expected.commits:
        found.different.append(f"{what}: its commits differ")
    if _end(run) != _expected_end(case.expected):
        found.different.append(f"{what}: {_end(run)}, not {_expected_end(case.expected)}")
    found.runs += 1
    found.deaths += death.victim is not None
    found.repeated += sum(count > 1 for count in nodes.keys.values())
    found.doubled += max(0, len(nodes.keys) - case.calls)


async def _ended(host: LocalHost, run_id: UUID, death: Death) -> Run:
    """Wake whatever is queued, as a sweeper does, until the run has ended."""
    host.execute(run_id)
    until = asyncio.get_running_loop().time() + SECONDS
    while asyncio.get_running_loop().time() < until:
        run, queued = await orm.run_in_thread(lambda: _look(run_id, death.victim))
        if run.status in TERMINAL:
            return run
        for one in queued:
            host.execute(one)
        await asyncio.sleep(0.005)
    raise GaveUp(f"run {run_id} has not ended after {SECONDS} s")


def _look(run_id: UUID, victim: Lease | None) -> tuple[Run, list[UUID]]:
    if victim is not None:
        parameters = (*victim._held(), "its worker died", 0)
        call_function("SELECT heartbit_release(%s, %s, %s, %s)", parameters)
    tree = Run.objects.filter(root=run_id, status=RunStatus.QUEUED)
    return Run.objects.get(pk=run_id), list(tree.values_list("pk", flat=True))


def _commits(run_id: UUID) -> Iterator[GraphCommitted]:
    events = RunEvent.objects.filter(run=run_id, type=GraphCommitted.type).order_by("seq")
    for payload in events.values_list("payload", flat=True):
        event = decode(GraphCommitted.type, payload)
        assert isinstance(event, GraphCommitted)
        yield event


def _end(run: Run) -> Any:
    if run.status != RunStatus.SUCCEEDED:
        return (run.error or {}).get("message", run.status)
    return run.output if run.structured is None else run.structured


def _expected_end(played: Played) -> Any:
    if isinstance(played.ending, GraphSucceeded):
        return "" if played.ending.output is None else played.ending.output
    return played.failure.message
