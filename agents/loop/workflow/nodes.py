"""Tools that serve the nodes of a graph; each result has fields of ``NodeFinished``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from agents.definitions.spec import CODE_TOOL
from agents.journal.waits import DELAY
from agents.loop.workflow.functions import FunctionCaller
from agents.loop.workflow.node_tool import LONGEST_SECONDS, NODE, node_tool
from agents.workflows.calls import CallInput, expired
from agents.workflows.executors.executor import Executor
from agents.workflows.graph import Graph
from agents.workflows.state import GraphState
from heartbit_site.base.suspensions import QUESTION, ChildTask, Question, Suspension, WaitOutcome
from heartbit_site.base.toolspec import ToolContext, ToolSpec

AGENT: Final = f"{NODE}agent"
ASK: Final = f"{NODE}ask"
PAUSE: Final = f"{NODE}pause"
#: Tool by kind of work, for kinds whose nodes are all served by the same one.
TOOL_OF_WORK: Final = {
    "agent": AGENT,
    "workflow": AGENT,
    "ask": ASK,
    "pause": PAUSE,
    "code": CODE_TOOL,
}
#: Tools whose calls only begin waits.
WAITING: Final = frozenset({AGENT, ASK, PAUSE})
_TEXT: Final = {"type": "string"}


def node_tools(
    graph: Graph,
    state: GraphState,
    inputs: Mapping[str, CallInput],
    executors: Mapping[str, Executor],
    pins: Mapping[str, str],
) -> dict[str, ToolSpec]:
    """Return the tools that serve the nodes of a graph, by name.

    Args:
        graph: The graph.
        state: State of its run.
        inputs: Input of each call that runs, by call id.
        executors: Executor of each node that calls one, by the node's name.
        pins: Hash of the version of each agent and workflow that the nodes run, by name.
    """
    waits = _Waits(inputs, pins)
    specs = [
        node_tool(AGENT, waits.run_agent, resume=_join),
        node_tool(ASK, waits.ask),
        node_tool(PAUSE, waits.pause, resume=_end_pause),
    ]
    specs += [
        FunctionCaller(executor, graph, state, inputs).tool(graph.nodes[name])
        for name, executor in executors.items()
    ]
    return {spec.name: spec for spec in specs}


class _Waits:
    """Functions of the tools that call no code of an app."""

    def __init__(self, inputs: Mapping[str, CallInput], pins: Mapping[str, str]) -> None:
        self._inputs, self._pins = inputs, pins

    async def run_agent(self, context: ToolContext) -> Suspension:
        """Start a child run, and wait for it."""
        given = self._inputs[context.call_id]
        name = given.node.subject
        child = ChildTask(
            name,
            as_text(given.task),
            version=self._pins.get(name, ""),
            strong=given.wants_strong_model,
            response_schema=given.node.output if given.node.agent else None,
        )
        return Suspension((child,), given.node.timeout or LONGEST_SECONDS)

    async def ask(self, context: ToolContext) -> Suspension | dict[str, Any]:
        """Ask a person, and wait for the answer."""
        given = self._inputs[context.call_id]
        asked, reply = given.question, context.reply
        if asked is None:
            raise TypeError(f"the call {context.call_id} has no question")
        if reply is None:
            question = Question(asked.text, asked.form or _TEXT, group=asked.group)
            return Suspension((), asked.timeout_seconds or LONGEST_SECONDS, QUESTION, question)
        if reply.status == "expired":
            ended = expired(given)
            return {"error": asdict(ended.error)} if ended.error else {"output": ended.output}
        # The function that asked finds the question's data with the answer.
        asked_by = {"asked": asdict(asked)} if asked.state is not None else {}
        return {"output": reply.value, **asked_by}

    async def pause(self, context: ToolContext) -> Suspension:
        """Wait for a time."""
        return Suspension((), float(self._inputs[context.call_id].node.subject), DELAY.name)


def _join(outcomes: tuple[WaitOutcome, ...]) -> dict[str, Any]:
    """Return the result of a child's run: its structured answer, else its text."""
    [outcome] = outcomes
    value = outcome.value
    if value["status"] == "succeeded":
        structured = value.get("structured")
        return {"output": value.get("output") or None if structured is None else structured}
    error = value.get("error") or {}
    reason = error.get("message") or f"its run ended as {value['status']}"
    return {"error": {"type": str(value["status"]), "message": f"{outcome.subject}: {reason}"}}


def _end_pause(_: tuple[WaitOutcome, ...]) -> dict[str, Any]:
    return {"output": None}


def as_text(value: Any) -> str:
    """Return a task as text: data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
