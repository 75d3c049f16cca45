"""Tools that serve the nodes of a graph; each result has fields of ``NodeFinished``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from agents.definitions import validators
from agents.journal.waits import DELAY
from agents.loop.workflow.functions import Executor
from agents.workflows.calls import CallInput, expired
from agents.workflows.graph import Graph
from heartbit_site.base.suspensions import QUESTION, ChildTask, Question, Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec

#: Begin of the names of these tools, which no other tool's name has.
NODE: Final = "node:"
AGENT: Final = f"{NODE}agent"
ASK: Final = f"{NODE}ask"
PAUSE: Final = f"{NODE}pause"
SET: Final = f"{NODE}set"
#: Tool by kind of work, for kinds whose nodes are all served by the same one.
TOOL_OF_WORK: Final = {
    "agent": AGENT,
    "workflow": AGENT,
    "ask": ASK,
    "pause": PAUSE,
    "set": SET,
    "code": "run_code",
}
#: Time after which an unfinished child or an unanswered question ends, if its node sets none.
LONGEST_SECONDS: Final = 366 * 86_400.0
_CONTEXT: Final = "context"
_TEXT: Final = {"type": "string"}


def node_tools(
    graph: Graph, inputs: Mapping[str, CallInput], executors: Mapping[str, Executor]
) -> dict[str, ToolSpec]:
    """Return the tools that serve the nodes of a graph, by name.

    Args:
        graph: The graph.
        inputs: Input of each call that runs, by call id.
        executors: Executors of its functions and validators, by name.
    """
    specs = [
        _spec(AGENT, partial(_run_agent, inputs), resume=_join),
        _spec(ASK, partial(_ask, inputs)),
        _spec(PAUSE, partial(_pause, inputs), resume=_end_pause),
        _spec(SET, partial(_set, inputs)),
    ]
    for node in graph.nodes.values():
        name = node.spec.function or node.spec.validator
        if name is not None:
            specs.append(_function(node.name, executors[name], inputs, node.spec.timeout))
    return {spec.name: spec for spec in specs}


def _spec(
    name: str,
    function: Callable[[ToolContext], Any],
    *,
    effect: Effect = Effect.PURE,
    resume: Callable[[tuple[WaitOutcome, ...]], Any] | None = None,
    timeout_seconds: float = LONGEST_SECONDS,
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description="",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
        function=function,
        effect=effect,
        timeout_seconds=timeout_seconds,
        resume=resume,
        context_parameter=_CONTEXT,
        labels=frozenset(),
    )


async def _run_agent(inputs: Mapping[str, CallInput], context: ToolContext) -> Suspension:
    given = inputs[context.call_id]
    child = ChildTask(given.node.subject, as_text(given.task))
    return Suspension((child,), given.node.timeout or LONGEST_SECONDS)


def _join(outcomes: tuple[WaitOutcome, ...]) -> dict[str, Any]:
    """Return the result of a child's run: its structured answer, else its text."""
    [outcome] = outcomes
    value = outcome.value
    if value["status"] == "succeeded":
        structured = value.get("structured")
        return {"output": value.get("output") if structured is None else structured}
    error = value.get("error") or {}
    reason = error.get("message") or f"its run ended as {value['status']}"
    return {"error": {"type": str(value["status"]), "message": f"{outcome.subject}: {reason}"}}


async def _ask(
    inputs: Mapping[str, CallInput], context: ToolContext
) -> Suspension | dict[str, Any]:
    given = inputs[context.call_id]
    asked, reply = given.question, context.reply
    if asked is None:
        raise TypeError(f"the call {context.call_id} has no question")
    if reply is None:
        question = Question(asked.text, asked.form or _TEXT)
        return Suspension((), asked.timeout_seconds or LONGEST_SECONDS, QUESTION, question)
    if reply.status == "expired":
        ended = expired(given.call, given.node)
        return {"error": asdict(ended.error)} if ended.error else {"output": ended.output}
    return {"output": reply.value}


async def _pause(inputs: Mapping[str, CallInput], context: ToolContext) -> Suspension:
    return Suspension((), float(inputs[context.call_id].node.subject), DELAY.name)


def _end_pause(_: tuple[WaitOutcome, ...]) -> dict[str, Any]:
    return {"output": None}


async def _set(inputs: Mapping[str, CallInput], context: ToolContext) -> dict[str, Any]:
    given = inputs[context.call_id]
    return {"output": given.message, "writes": [asdict(write) for write in given.writes]}


def _function(
    node: str, executor: Executor, inputs: Mapping[str, CallInput], timeout: float | None
) -> ToolSpec:
    """Return the tool that calls a function; a plain function has a thread, as any tool."""

    async def call_async(context: ToolContext) -> Any:
        return _result(await executor.call(inputs[context.call_id], context))

    def call(context: ToolContext) -> Any:
        return _result(executor.call(inputs[context.call_id], context))

    function = call_async if executor.is_async else call
    seconds = timeout or executor.timeout_seconds
    return _spec(f"{NODE}{node}", function, effect=executor.effect, timeout_seconds=seconds)


def _result(found: dict[str, Any]) -> dict[str, Any]:
    validators.storable_json(found)
    return found


def as_text(value: Any) -> str:
    """Return a task as text: data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
