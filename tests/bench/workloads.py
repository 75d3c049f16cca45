"""The workloads of the targets, as data: what is asked, by which agent, of which effect class."""

from __future__ import annotations

import json
from dataclasses import dataclass

SYSTEM_PROMPT = "You are an agent under measurement. Answer in one sentence."
MODEL = "openai:bench"
SOLO, WORKER, LEAD = "solo", "worker", "lead"
MEMBERS = ("first", "second", "third")
#: Two of the default effect class (at most once), and two that are pure.
TOOLS = ("look_up", "note", "calculate", "current_time")
#: Model calls in one run tree of W4.
LEAD_CALLS = 2 + 2 * len(MEMBERS)


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload.

    Attributes:
        name: As in the targets; with ``-pure``, its tools are of that effect class.
        title: What it is, for the table.
        agent: Who does it.
        task: The script for the fake model server.
        model_calls: Model calls on the critical path; the members of W4 work side by side.
        messages: Of a conversation, one run each and one after the other; 1: no conversation.
        counted: Whether its transactions are counted, which takes ten seconds a door.
        extra: Whether the targets do not have it.
    """

    name: str
    title: str
    agent: str
    task: str
    model_calls: int
    messages: int = 1
    counted: bool = False
    extra: bool = False


def two_turns(about: str) -> str:
    """A script of two parallel calls of the default effect class, then an answer."""
    arguments = json.dumps({"about": about})
    return f"[[calls: look_up {arguments}, note {arguments}]]"


def delegated(tasks: dict[str, str]) -> str:
    """A script that gives each member its task, then an answer."""
    given = (json.dumps({"agent": name, "task": task}) for name, task in tasks.items())
    return f"[[delegate: {', '.join(given)}]]"


_DEFAULT = two_turns("Bonn")
_PURE = '[[calls: current_time {}, calculate {"expression": "6*7"}]]'
_TEAM = "orchestrator, three sub-agents of W2, synthesis"
_ALL = (
    Workload("W1", "one model call", SOLO, "Say hello.", 1, counted=True),
    Workload("W2", "two turns, two parallel tools", WORKER, _DEFAULT, 2, counted=True),
    Workload("W2-pure", "W2, pure tools", WORKER, _PURE, 2, extra=True),
    Workload("W3", "ten-turn chat on one thread", SOLO, "Say hello.", 10, messages=10),
    Workload("W4", _TEAM, LEAD, delegated(dict.fromkeys(MEMBERS, _DEFAULT)), 4, counted=True),
    Workload(
        "W4-pure", "W4, pure tools", LEAD, delegated(dict.fromkeys(MEMBERS, _PURE)), 4, extra=True
    ),
)
WORKLOADS = {workload.name: workload for workload in _ALL}
