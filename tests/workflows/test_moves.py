"""Runs that wait are moved to another version: what has ended is not repeated."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.fork_run import Edits, MisfitError
from agents.actions.move_runs import Move, find_movable, move_runs
from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run
from agents.actions.save_agent import change_agent, create_agent
from agents.actions.waits import answer_wait
from agents.choices import Placement, RunStatus
from agents.delivery.targets import check_targets
from agents.models import Agent, AgentVersion, Delivery, Run, Wait
from agents.reads.questions import question_of
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import AuditEntry
from tests.cli.conftest import here
from tests.fleet import Worker, wait_until
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place

__all__ = ["here"]

SLOWLY = {"times": 3, "backoff_seconds": 3600}
BROKEN = {"tool": "calculate", "arguments": {"expression": "1 / 0"}, "retry": SLOWLY}
NODES: dict[str, Any] = {"count": {"set": {"n": 1}}, "asks": {"ask": "Publish it?"}}
EDGES: list[dict[str, Any]] = [
    {"from": "count", "to": "asks"},
    {"from": "asks", "output": "{{ state.n }} {{ message }}"},
]


def spec_of(queue: str, **settings: Any) -> WorkflowSpec:
    """A workflow that counts, and then asks, unless the settings say otherwise."""
    content = {
        "name": "flow",
        "queue": queue,
        "state": {"n": {"merge": "add", "initial": 0}},
        "nodes": NODES,
        "start": "count",
        "edges": EDGES,
    }
    return WorkflowSpec.model_validate({**content, **settings})


@pytest.fixture
def flow(workspace: Workspace) -> Agent:
    """The workflow with a queue of its own."""
    return create_agent(workspace, spec_of(f"flow-{secrets.token_hex(4)}"), by=SYSTEM).row


def change(flow: Agent, **settings: Any) -> AgentVersion:
    """Publish another version of the workflow."""
    spec = spec_of(flow.queue, **settings)
    written = change_agent(flow.workspace, flow.name, spec, WorkflowSpec.model_fields, by=SYSTEM)
    assert written.made
    return written.made.version


def waits(run_id: Any) -> bool:
    return Run.objects.filter(pk=run_id, status=RunStatus.WAITING).exists()


def start(flow: Agent, **more: Any) -> Run:
    run_id = start_run(flow.workspace, "go", agent=flow.name, **more)
    wait_until(lambda: waits(run_id))
    return Run.objects.get(pk=run_id)


def move(run: Run, version: AgentVersion, **more: Any) -> Move:
    [found] = move_runs([run.pk], version, by=SYSTEM, **more)
    return found


def finished(run_id: Any) -> list[str]:
    """The nodes' calls that have ended in a run's journal."""
    events = Run.objects.get(pk=run_id).events.filter(type="node.finished").order_by("seq")
    return [event.payload["call_id"] for event in events]


def test_a_run_that_asks_is_moved_and_asks_again(flow: Agent, here: Place) -> None:
    with Worker(queues=flow.queue):
        target = [{"kind": "artifact", "name": "report"}]
        run = start(flow, deliveries=check_targets(flow.workspace, target))
        really = {**NODES, "asks": {"ask": "Really?"}}
        late = {"from": "asks", "output": "v2: {{ state.n }} {{ message }}"}
        second = change(flow, nodes=really, edges=[EDGES[0], late])
        assert find_movable(flow, second) == [run.pk]
        tried = here("workflows", "move", "flow", "--dry-run")
        assert (tried.code, tried.out) == (0, f"{run.pk}: fits v2.\n")
        assert waits(run.pk)
        moved = here("workflows", "move", "flow", "--json").json
        [row] = moved["runs"]
        assert (row["run_id"], row["version"], moved["version"]) == (str(run.pk), 1, 2)
        made = row["moved_to_id"]
        wait_until(lambda: Wait.objects.filter(run=made, resolved_at=None).exists())
        run.refresh_from_db()
        assert run.status == RunStatus.CANCELLED
        assert not Wait.objects.filter(run=run, resolved_at=None).exists()
        assert not Delivery.objects.filter(run_id=run.pk).exists()
        assert Delivery.objects.filter(run_id=made).exists()
        wait = Wait.objects.get(run=made, resolved_at=None)
        assert question_of(wait).text == "Really?"
        answer_wait(wait, "yes", by=SYSTEM)
        wait_until(lambda: Run.objects.get(pk=made).finished_at)
    new = Run.objects.get(pk=made)
    assert (new.status, new.output) == (RunStatus.SUCCEEDED, "v2: 1 yes"), new.error
    entries = AuditEntry.objects.filter(target=f"run:{run.pk}").order_by("number")
    assert [entry.action for entry in entries][-2:] == ["run.cancel", "run.move"]
    assert here("workflows", "move", "flow").out.startswith("No live run of flow is on another")


def test_a_run_that_does_not_fit_stays_and_says_why(flow: Agent, here: Place) -> None:
    with Worker(queues=flow.queue):
        run = start(flow)
    other = {"count": {"set": {}}, "wait": {"pause": "1h"}}
    third = change(flow, nodes=other, edges=[{"from": "count", "to": "wait"}], state={})
    sentences = [
        'The node "asks" is open in the run, and the other version has no such node.',
        'The key "n" of the state has a value, and the other version has no such key.',
    ]
    assert move(run, third).obstacles == sentences
    told = here("workflows", "move", "flow", "--run", str(run.pk)[:13])
    assert (told.code, told.out.splitlines()[0]) == (1, f"{run.pk}: stays on v1.")
    with pytest.raises(MisfitError, match=r'fit v2\. The node "asks" is open'):
        fork_run(run, 2, edits=Edits(version=2), by=SYSTEM)
    assert fork_run(run, 0, edits=Edits(version=2), by=SYSTEM), "from its beginning it may"
    assert waits(run.pk)


def test_a_move_mends_a_node_and_repeats_none_of_its_superstep(flow: Agent) -> None:
    nodes = {**NODES, "sum": BROKEN}
    both = [
        {"from": "count", "output": "{{ state.n }}"},
        {"from": "sum", "output": "{{ message }}"},
    ]
    settings = {"start": ["count", "sum"], "edges": both}
    change(flow, nodes={name: nodes[name] for name in ("count", "sum")}, **settings)
    with Worker(queues=flow.queue):
        run = start(flow)
        assert finished(run.pk) == ["0.0", "0.1"], "the second one will be tried again"
        mended = {"tool": "calculate", "arguments": {"expression": "6 * 7"}}
        version = change(flow, nodes={"count": NODES["count"], "sum": mended}, **settings)
        made = move(run, version).moved_to
        assert made is not None
        wait_until(lambda: Run.objects.get(pk=made).finished_at)
    new = Run.objects.get(pk=made)
    assert (new.status, new.structured) == (RunStatus.SUCCEEDED, [1, "42"]), new.error
    assert finished(made) == ["0.0", "0.1", "0.1"]


def test_what_cannot_be_moved_says_so(flow: Agent, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue=flow.queue)
    thread = start_conversation(workspace, agent=flow.name)
    talks = Run.objects.get(pk=post_message(thread, "go").run_id)
    local = Run.objects.get(pk=start_run(workspace, "go", agent=flow.name, home=Placement.LOCAL))
    other = Run.objects.get(pk=start_run(workspace, "go", agent="writer"))
    second = change(flow, description="x", nodes={**NODES, "asks": {"ask": "Really?"}})
    assert move(talks, second, dry_run=True).obstacles == [
        "It answers a conversation, which a fork does not: let it end, or cancel it and post the "
        "message again; new messages run the current version."
    ]
    assert "local run" in move(local, second).obstacles[0]
    assert move(other, second).obstacles == ["It is a run of writer."]
    queued = Run.objects.get(pk=start_run(workspace, "go", agent=flow.name))
    assert move(queued, second).obstacles == ["It is on v2 already."]
    first = flow.versions.get(number=1)
    reader = Access(workspace, "ada", "api", frozenset({"runs:read"}), None)
    with pytest.raises(ForbiddenError):
        move_runs([queued.pk], first, by=Actor("ada", "api", access=reader))


def test_a_run_moves_once_no_other_run_works_for_it(
    flow: Agent, workspace: Workspace, here: Place
) -> None:
    part = spec_of("nobody", name="part")
    create_agent(workspace, part, by=SYSTEM)
    nodes = {"part": {"workflow": "part", "on_error": "asks"}, "asks": NODES["asks"]}
    edges = [{"from": one, "output": "{{ message }}"} for one in nodes]
    whole = {"nodes": nodes, "edges": edges, "state": {}, "start": "part"}
    change(flow, **whole)
    with Worker(queues=flow.queue):
        run = start(flow)
        child = run.children.get()
        better = change(flow, **whole, limits={"supersteps": 9})
        told = here("workflows", "move", "flow", "--dry-run")
        assert (told.code, told.out.splitlines()) == (
            1,
            [
                f"{run.pk}: stays on v2.",
                f"  Run {child.pk} of part works for it, and would be repeated: let that run end, "
                "and move this one then; or cancel that run, which is an error of its node.",
            ],
        )
        more = spec_of("nobody", name="part", limits={"supersteps": 9})
        written = change_agent(workspace, "part", more, ["limits"], by=SYSTEM)
        assert written.made
        assert move(child, written.made.version).obstacles == [
            f"Run {run.pk} waits for it, and not for a fork of it: let it end."
        ]
        cancel_run(workspace, child.pk, reason="moved", by=SYSTEM)
        asked = Wait.objects.filter(resolved_at=None)
        wait_until(asked.filter(run=run).exclude(kind="child").exists)
        wait_until(lambda: waits(run.pk))
        made = move(Run.objects.get(pk=run.pk), better).moved_to
        assert made is not None
        wait_until(asked.filter(run=made).exists)
    assert not Run.objects.filter(parent=made).exists(), "the part is not repeated"
