"""The workloads of the targets, as data: what is asked, by which agent, and what is hoped for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

PathName = Literal["durable", "in_process"]

SYSTEM_PROMPT = "You are an agent under measurement. Answer in one sentence."
MODEL = "openai:bench"
SOLO, WORKER, LEAD = "solo", "worker", "lead"
MEMBERS = ("first", "second", "third")
TOOLS = ("calculate", "current_time")


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload.

    Attributes:
        name: As in the targets.
        title: What it is, for the table.
        agent: Who does it.
        task: The script for the fake model server.
        target_ms: The p50 of the overhead hoped for, by path.
        transactions: Database transactions hoped for a run, by path; none where it is open.
        reference: Milliseconds of the bare Celery floor on the machine the targets are from.
        model_calls: Model calls on the critical path; the members of W4 work side by side.
        messages: Of a conversation, one run each and one after the other; 1: no conversation.
    """

    name: str
    title: str
    agent: str
    task: str
    target_ms: dict[PathName, float]
    transactions: dict[PathName, int]
    reference: float
    model_calls: int
    messages: int = 1


_TWO_TURNS = '[[calls: current_time {}, calculate {"expression": "6*7"}]]'
_DELEGATE = ", ".join(json.dumps({"agent": name, "task": _TWO_TURNS}) for name in MEMBERS)

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            name="W1",
            title="one model call",
            agent=SOLO,
            task="Say hello.",
            target_ms={"durable": 9, "in_process": 6},
            transactions={"durable": 4, "in_process": 3},
            reference=6.5,
            model_calls=1,
        ),
        Workload(
            name="W2",
            title="two turns, two parallel tools",
            agent=WORKER,
            task=_TWO_TURNS,
            target_ms={"durable": 15, "in_process": 12},
            transactions={"durable": 6, "in_process": 5},
            reference=9.9,
            model_calls=2,
        ),
        Workload(
            name="W3",
            title="ten-turn chat on one thread",
            agent=SOLO,
            task="Say hello.",
            target_ms={"durable": 90, "in_process": 60},
            transactions={},
            reference=154,
            model_calls=10,
            messages=10,
        ),
        Workload(
            name="W4",
            title="orchestrator, three sub-agents of W2, synthesis",
            agent=LEAD,
            task=f"[[delegate: {_DELEGATE}]]",
            target_ms={"durable": 55, "in_process": 40},
            transactions={},
            reference=57,
            model_calls=4,
        ),
    )
}
