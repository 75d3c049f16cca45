"""GRAPHS: W5 and W6, agents side by side, long runs and long lists, through two doors.

W5 has five steps without a model, one after another; W6 is a group chat of five agents that speak
twenty times. The same five steps as straight code on the same journal are what a graph is compared
with. Times are walls, with the fake model's own (W6: 20 calls; ``bare_model`` takes about
1.3 ms each). A long run has ten thousand supersteps, whose last thousand are compared with its
first; a long list has a thousand entries, each a run.
"""

from __future__ import annotations

import json
import secrets
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.actions.save_agent import create_agent
from agents.choices import Placement, RunStatus
from agents.models import Agent, AgentVersion, Run
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.bench.figures import Figure, Row, percentile
from tests.bench.rig import QUEUE, Rig
from tests.bench.said import say
from tests.bench.toolbox.straight import KIND
from tests.bench.workloads import MEMBERS, SOLO, Workload
from tests.bench.workspace import starts
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.bench.doors import Door
    from tests.bench.plan import Plan

SUPERSTEPS = 10_000
ITEMS = 1_000
WINDOW = 20
DURABLE, LOCAL = "internal durable", "internal in process"
STEPS = [f"step{number}" for number in range(5)]
#: p50 in milliseconds that each door may take, by workload.
TARGETS = {
    "W5": {DURABLE: 10.0, LOCAL: 9.0},
    "W6": {DURABLE: 120.0, LOCAL: 110.0},
    "FIVE": {DURABLE: 28.0, LOCAL: 24.0},
}
LOADS = {
    "W5": Workload("W5", "five steps without a model", "five-steps", "0", 0),
    "W6": Workload("W6", "group chat, 5 agents x 20", "group-chat", "Say hello.", 20),
    "FIVE": Workload("FIVE", "five agents side by side", "five-agents", "Say hello.", 1),
}
STRAIGHT = Workload("STRAIGHT", "five steps as straight code", "straight", "0", 0)
IDLE = Workload("IDLE", "a question", "idle", "Say hello.", 3)
LONG = Workload("LONG", "ten thousand supersteps", "long", "0", 0)
WIDE = Workload("WIDE", "a thousand entries", "wide", json.dumps(["Say hello."] * ITEMS), 0)
_STEPS_OF_RUN = """
    SELECT extract(epoch FROM at), pg_column_size(payload) FROM agents_runevent
    WHERE run_id = %s AND type = 'graph.committed' ORDER BY seq
"""
_ROWS_OF_RUN = """
    SELECT sum(pg_column_size(t.*)) FROM (
        SELECT r::text FROM agents_run r WHERE id = %(run)s
        UNION ALL SELECT e::text FROM agents_runevent e WHERE run_id = %(run)s
        UNION ALL SELECT w::text FROM agents_wait w WHERE run_id = %(run)s
        UNION ALL SELECT c::text FROM agents_checkpoint c WHERE run_id = %(run)s) t
"""
_WINDOW = """
    SELECT max(running) FROM (
        SELECT sum(d) OVER (ORDER BY at, d) AS running FROM (
            SELECT created_at AS at, 1 AS d FROM agents_run WHERE parent_id = %(run)s
            UNION ALL SELECT finished_at, -1 FROM agents_run WHERE parent_id = %(run)s) e) w
"""


def measure(plan: Plan) -> Iterator[Row]:
    """A row of each workload and door, and those of the long run and the long list."""
    with Rig() as rig:
        doors = {door.name: door for door in rig.doors}
        _publish(doors[DURABLE].workspace)
        _publish_straight(doors[DURABLE].workspace)
        for name, workload in LOADS.items():
            say(f"{name}: {plan.runs} runs through two doors")
            for door, target in TARGETS[name].items():
                yield _latency(doors[door], workload, target, plan)
        for name in (DURABLE, LOCAL):
            yield _against_straight_code(doors[name], plan)
        yield _long(doors[LOCAL])
        yield _wide(doors[DURABLE])
        yield _idle(doors[DURABLE].workspace)


def _publish(workspace: Workspace) -> None:
    speakers = [*MEMBERS, SOLO, "worker"]
    shared: dict[str, Any] = {"queue": QUEUE}
    limits = {"supersteps": 2 * SUPERSTEPS, "activations": 2 * SUPERSTEPS}
    edges = [
        {"from": "up", "to": "up", "when": f"state.n < {SUPERSTEPS}"},
        {"from": "up", "output": "{{ state.n }}", "when": f"state.n >= {SUPERSTEPS}"},
    ]
    counted = {"n": {"merge": "add", "initial": 0}}
    everyone = {name: {"agent": name, "task": "{{ input }}"} for name in speakers}
    for content in (
        {
            "name": "five-steps",
            "order": "barrier",
            "state": counted,
            "nodes": {name: {"set": {"n": 1}} for name in STEPS},
            "start": STEPS[0],
            "edges": [{"from": one, "to": other} for one, other in pairwise(STEPS)],
            "output": "{{ state.n }}",
        },
        {"name": "five-agents", "order": "barrier", "nodes": everyone, "start": speakers},
        {"name": "group-chat", "group_chat": {"agents": speakers, "end": {"max_messages": 20}}},
        {
            "name": "long",
            "state": counted,
            "nodes": {"up": {"set": {"n": 1}}},
            "start": "up",
            "edges": edges,
            "limits": limits,
        },
        {
            "name": "idle",
            "steps": {
                "facts": {"each": "[1, 2, 3]", "agent": SOLO, "task": "{{ input }}"},
                "ask": {"needs": ["facts"], "ask": "Is it right? {{ steps.facts.output }}"},
            },
        },
        {
            "name": "wide",
            "steps": {
                "each": {
                    "each": "input",
                    "max_parallel": WINDOW,
                    "agent": SOLO,
                    "task": "{{ item }}",
                }
            },
        },
    ):
        create_agent(workspace, WorkflowSpec.model_validate(shared | content), by=SYSTEM)


def _publish_straight(workspace: Workspace) -> None:
    agent = Agent.objects.create(workspace=workspace, name=STRAIGHT.agent, queue=QUEUE)
    snapshot = {"kind": KIND, "format": 2, "tools": [], "team": []}
    agent.current_version = AgentVersion.objects.create(
        agent=agent, number=1, hash=secrets.token_hex(32), snapshot=snapshot
    )
    agent.save()


def _against_straight_code(door: Door, plan: Plan) -> Row:
    """Both in turn, so that a slower machine slows both."""
    say(f"a graph and straight code in turn: {plan.runs} runs each")
    graph, straight = LOADS["W5"], STRAIGHT
    for _ in range(plan.warm_up):
        door.take(straight)
    pairs = [(door.take(graph), door.take(straight)) for _ in range(plan.runs)]
    graph_ms, straight_ms = (percentile(taken, 0.5) * 1000 for taken in zip(*pairs, strict=True))
    figures = (Figure("graph / straight code", graph_ms / straight_ms, "x", 1.2),)
    also = {"graph_ms": round(graph_ms, 2), "straight_ms": round(straight_ms, 2)}
    return Row("STRAIGHT", door.name, figures, also)


def _latency(door: Door, workload: Workload, target: float, plan: Plan) -> Row:
    for _ in range(plan.warm_up):
        door.take(workload)
    taken = [door.take(workload) * 1000 for _ in range(plan.runs)]
    p50 = percentile(taken, 0.5)
    also = {"p95_ms": round(percentile(taken, 0.95), 2), "runs": len(taken)}
    return Row(workload.name, door.name, (Figure("p50", p50, "ms", target),), also)


def _long(door: Door) -> Row:
    say(f"{SUPERSTEPS:,} supersteps in one run")
    began = time.monotonic()
    door.take(LONG)
    seconds = time.monotonic() - began
    run = Run.objects.filter(agent=LONG.agent).latest("created_at")
    with connection.cursor() as cursor:
        cursor.execute(_STEPS_OF_RUN, [run.pk])
        rows = cursor.fetchall()
    at, sizes = [float(row[0]) for row in rows], [row[1] for row in rows]
    first, last = at[1000] - at[0], at[-1] - at[-1001]
    figures = (
        Figure("seconds", seconds, "s", 10),
        Figure("last thousand / first thousand", last / first, "x", 1.2),
        Figure("bytes of their commits", sum(sizes[-1000:]) / sum(sizes[:1000]), "x", 1.2),
    )
    return Row("SUPERSTEPS", door.name, figures, {"supersteps": len(at)})


def _idle(workspace: Workspace) -> Row:
    """A run whose first steps have ended, and which waits for a person's answer."""
    run_id = starts(workspace, IDLE, Placement.FLEET)()
    waiting = Run.objects.filter(pk=run_id, status=RunStatus.WAITING)
    wait_until(waiting.exists)
    with connection.cursor() as cursor:
        cursor.execute(_ROWS_OF_RUN, {"run": run_id})
        [size] = cursor.fetchone()
    held = Run.objects.filter(pk=run_id, worker_id__isnull=False).count()
    figures = (
        Figure("its rows", size / 1000, "kB", 50),
        Figure("workers that hold it", float(held), "", 0),
    )
    return Row("IDLE", DURABLE, figures)


def _wide(door: Door) -> Row:
    say(f"{ITEMS:,} entries, each a run")
    began = time.monotonic()
    door.take(WIDE)
    seconds = time.monotonic() - began
    run = Run.objects.filter(agent=WIDE.agent).latest("created_at")
    with connection.cursor() as cursor:
        cursor.execute(_WINDOW, {"run": run.pk})
        [widest] = cursor.fetchone()
    figures = (
        Figure("seconds", seconds, "s", 5),
        Figure("runs at the same time", float(widest), "runs", WINDOW),
    )
    return Row("ITEMS", door.name, figures, {"items": run.children.count()})
