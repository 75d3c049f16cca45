"""The workflows: every kind of node, a join, windows, a question, a loop and a nested workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.models import Agent
from agents.runtime.execution.installed_executors import installed_executors
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from tests.chaos.toolbox import agent_workflows

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

SCOUT: Final = "scout"
TRIP: Final = "trip"
DETOUR: Final = "detour"
#: Its nodes begin as soon as they can, so the order of its commits varies.
ERRAND: Final = "errand"
CROWD: Final = "crowd"
#: Most calls at the same time, by what is between the name of a run and that of an entry.
WINDOWS: Final = {"visit": 2, "log": 2}
NAME: Final = "{{ input.name }}"

_SCOUT = {"agent": SCOUT, "task": f"[[run: {NAME}/scout]] [[text: saw {{{{ input.n }}}}]]"}
_VISIT = {
    "each": "steps.plan.output.stops",
    "agent": SCOUT,
    "task": f"[[run: {NAME}/visit/{{{{ item }}}}]] [[text: was at {{{{ item }}}}]]",
    "max_parallel": WINDOWS["visit"],
}
_ASK = {"ask": f"Publish {NAME} ({{{{ input.n }}}})?", "form": {"type": "boolean"}}
_STATE = {
    "sum": {"merge": "add", "initial": 0},
    "rounds": {"merge": "add", "initial": 0},
}

_DETOUR: Final[dict[str, Any]] = {
    "name": DETOUR,
    "state": _STATE,
    "nodes": {
        "first": {"set": {"sum": "{{ input.n }}"}},
        "store": {"function": "store"},
        "send": {"function": "send"},
        "last": {"function": "number"},
    },
    "start": "first",
    "edges": [
        {"from": "first", "to": "store", "message": "{{ input.name }}/detour/store"},
        {"from": "first", "to": "send", "message": "{{ input.name }}/detour/send"},
        {"from": ["store", "send"], "to": "last", "message": "{{ state.sum }}"},
        {"from": "last", "output": "{{ state.sum }}"},
    ],
}
_TRIP: Final[dict[str, Any]] = {
    "name": TRIP,
    "state": _STATE,
    "nodes": {
        "plan": {"function": "plan"},
        "scout": _SCOUT,
        "store": {"function": "store"},
        "send": {"function": "send"},
        "book": {"function": "book"},
        "detour": {"workflow": DETOUR, "task": "{{ input }}"},
        "gather": {"function": "number"},
        "polish": {"function": "number"},
        "visit": _VISIT,
        "log": {
            "each": "steps.plan.output.logs",
            "function": "store",
            "max_parallel": WINDOWS["log"],
        },
        "ask": _ASK,
        "publish": {"function": "store"},
        "withdraw": {"function": "send"},
    },
    "start": "plan",
    "edges": [
        *({"from": "plan", "to": name} for name in ("scout", "detour")),
        *(
            {"from": "plan", "to": name, "message": f"{NAME}/{name}"}
            for name in ("store", "send", "book")
        ),
        {
            "from": ["scout", "store", "send", "book", "detour"],
            "to": "gather",
            "message": "{{ steps.scout.output }} {{ input.n }}",
        },
        {"from": "gather", "to": "polish", "message": "{{ state.sum }}"},
        {
            "from": "polish",
            "cases": [{"when": "state.rounds < 4", "to": "polish"}],
            "default": "visit",
        },
        {"from": "visit", "to": "log"},
        {"from": "log", "to": "ask"},
        {"from": "ask", "to": "publish", "when": "message", "message": f"{NAME}/publish"},
        {"from": "ask", "to": "withdraw", "when": "not message", "message": f"{NAME}/withdraw"},
        *(
            {
                "from": name,
                "output": "{{ [message, state.sum, steps.visit.output, steps.log.output] }}",
            }
            for name in ("publish", "withdraw")
        ),
    ],
}
_ERRAND: Final[dict[str, Any]] = {
    "name": ERRAND,
    "order": "ready",
    "nodes": {
        "plan": {"function": "plan"},
        "scout": _SCOUT,
        "store": {"function": "store"},
        "ask": _ASK,
        "visit": _VISIT,
        "send": {"function": "send"},
    },
    "start": "plan",
    "edges": [
        *({"from": "plan", "to": name} for name in ("scout", "visit", "ask")),
        {"from": "plan", "to": "store", "message": f"{NAME}/store"},
        {
            "from": ["scout", "visit", "ask", "store"],
            "to": "send",
            "message": f"{NAME}/send",
        },
        {"from": "send", "output": "{{ [message, steps.visit.output, steps.ask.output] }}"},
    ],
}


def crowd(window: int) -> dict[str, Any]:
    """A workflow with two lists of many entries: runs of an agent, and calls of a function."""
    return {
        "name": CROWD,
        "nodes": {
            "visit": {
                "each": "input.numbers",
                "agent": SCOUT,
                "task": f"[[run: {NAME}/visit/{{{{ item }}}}]] [[text: was at {{{{ item }}}}]]",
                "max_parallel": window,
            },
            "log": {"each": "input.logs", "function": "store", "max_parallel": window},
            "done": {"set": {}},
        },
        "start": ["visit", "log"],
        "edges": [
            {"from": ["visit", "log"], "to": "done"},
            {"from": "done", "output": "{{ [steps.visit.output, steps.log.output] }}"},
        ],
    }


def publish(workspace: Workspace, *contents: dict[str, Any], queue: str) -> None:
    """Publish an agent without tools, and workflows that run it, for workers of a queue."""
    installed_executors().add_all(vars(agent_workflows).values())
    scout = Agent.objects.create(
        workspace=workspace,
        name=SCOUT,
        system_prompt="You look around.",
        model="openai:chaos",
        queue=queue,
    )
    publish_agent(scout)
    for content in contents:
        create_agent(workspace, WorkflowSpec.model_validate(content | {"queue": queue}), by=SYSTEM)


TRIPS: Final = (_DETOUR, _TRIP, _ERRAND)
