"""Nodes of a workflow as tools: each activation is a call behind the one invocation pipeline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from agents.journal.events import (
    ApprovalLapsed,
    ApprovalRequested,
    Event,
    OutcomeRequested,
    ScriptCalled,
    ToolFinished,
)
from agents.journal.events.event import decode
from agents.llm.messages import Message, ToolCall, ToolDefinition
from agents.loop.ports import ApprovedCall, ReadyCall, Toolbox
from agents.loop.unserved_calls import CONFIRMED
from agents.loop.workflow.node_tool import NODE
from agents.loop.workflow.nodes import ASK, TOOL_OF_WORK, WAITING
from agents.loop.workflow.programs import program_arguments, program_output, read_value
from agents.loop.workflow.state import WorkflowState
from agents.workflows.calls import CallInput, CallReader, failed, retry_of, validated
from agents.workflows.contents import RunData
from agents.workflows.events import NodeFinished
from agents.workflows.executors.executor import Executor
from agents.workflows.expressions.errors import EvaluationError
from agents.workflows.graph import Graph
from agents.workflows.records import AskedPerson, NodeError
from agents.workflows.spec.node import NodeSpec, RetrySpec
from agents.workflows.state import OpenCall
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.suspensions import QuestionReply, WaitOutcome
from heartbit_site.base.toolspec import Effect
from tools.calls.pipeline import CallJournal, SuspendedCall
from tools.calls.result import ToolResult
from tools.scripts.steps import EndedScript, PausedScript

#: A longer backoff is waited for without the worker.
HOLD_SECONDS: Final = 2.0
#: Results that another attempt would not change.
_FINAL: Final = ("invalid", "refused", "uncertain")


class NodeToolbox:
    """Implementation of ``Toolbox`` that serves the nodes of a graph.

    Attributes:
        graph: The graph.
        data: Input and artifacts of the run.
    """

    def __init__(
        self,
        graph: Graph,
        data: RunData,
        state: WorkflowState,
        toolbox: Toolbox,
        inputs: dict[str, CallInput],
        executors: Mapping[str, Executor],
    ) -> None:
        """Take the graph and the tools of its nodes.

        Args:
            graph: The graph.
            data: Input and artifacts of the run.
            state: State of the run.
            toolbox: Tools by name: the workflow's own, and those of its nodes (``node_tools``).
            inputs: Input of each call that runs, by call id; the nodes' tools read it.
            executors: Executor of each node that calls one, by the node's name.
        """
        self._executors = executors
        self.graph, self.data = graph, data
        self._state, self._toolbox, self._inputs = state, toolbox, inputs
        self._reader: tuple[int, CallReader] | None = None

    async def prepare(
        self,
        call_id: str,
        call: ToolCall,
        approved: ApprovedCall | None,
        reply: QuestionReply | None = None,
    ) -> ReadyCall | ToolResult | ApprovalRequested:
        """Render the node's input, and check the call (see ``Toolbox``)."""
        try:
            given = self._read(call_id)
        except EvaluationError as error:
            if reply is None:
                return ToolResult(str(error), "error")
            # What was asked has changed meanwhile; the answer counts all the same.
            call_read = self._state.graph.open_call(call_id)
            node = self.graph.nodes[call_read.activation.node].spec
            given = CallInput(node, call_read, None, question=AskedPerson(""))
        self._inputs[call_id] = given
        seconds = self.delay_before(given.call)
        if seconds <= HOLD_SECONDS and reply is None and approved is None:
            await asyncio.sleep(seconds)
        made = ToolCall(call.id, self._tool_of(call_id), _arguments(given))
        ready = await self._toolbox.prepare(call_id, made, approved, reply)
        return ready if given.node.is_wait else _in_time(ready, given.node.timeout)

    def _read(self, call_id: str) -> CallInput:
        """Return the input of a call.

        Raises:
            EvaluationError: A template of its node fails.
        """
        state = self._state.graph
        if self._reader is None or self._reader[0] != state.commits:
            self._reader = state.commits, CallReader(self.graph, state, self.data)
        return self._reader[1].read(state.open_call(call_id))

    def written(self, call_id: str) -> NodeFinished:
        """Return the result of a call that only writes keys of the state."""
        call = self._state.graph.open_call(call_id)
        node = self.graph.nodes[call.activation.node].spec
        try:
            given = self._read(call_id)
        except EvaluationError as error:
            return failed(call, node, NodeError("error", str(error)))
        problems = [] if node.output is None else validate(node.output, given.message)
        if problems:
            return failed(call, node, NodeError("output", "; ".join(problems)))
        done = {"attempt": call.attempt, "output": given.message, "writes": given.writes}
        return NodeFinished(call_id, node.name, **done)

    def translated(self, event: Event) -> Event:
        """Return the result of a node for the result of its call; other events are unchanged."""
        if isinstance(event, OutcomeRequested):
            return replace(event, tool=self._state.graph.open_call(event.call_id).activation.node)
        if not isinstance(event, ToolFinished):
            return event
        given = self._inputs.pop(event.call_id, None)
        call = self._state.graph.open_call(event.call_id)
        node = self.graph.nodes[call.activation.node].spec
        if event.status != "ok":
            kind, _, text = event.content.partition(": ")
            is_named = text != "" and kind.isidentifier()
            error = NodeError(kind, text) if is_named else NodeError(event.status, event.content)
            return self._failed(event, error)
        result = self._result(event, node)
        if "error" in result:
            return self._failed(event, NodeError(**result["error"]))
        is_answer = call.activation.role == "question"
        if node.validator is not None and "asked" not in result and not is_answer:
            given = given or self._read(event.call_id)
            return validated(given, _problems(result.get("output")), retry=self._retry_of(node))
        if node.output is not None and "asked" not in result and not is_answer:
            problems = validate(node.output, result.get("output"))
            if problems:
                return self._failed(event, NodeError("output", "; ".join(problems)))
        own = {"call_id": event.call_id, "node": node.name, "attempt": call.attempt}
        took = {"duration_ms": event.duration_ms}
        return decode(NodeFinished.type, {**result, **own, **took})

    def _result(self, event: ToolFinished, node: NodeSpec) -> dict[str, Any]:
        """Return the fields of ``NodeFinished`` that a successful call has decided."""
        asked = self._state.calls[event.call_id].outcome_request
        if asked is None and self._tool_of(event.call_id).startswith(NODE):
            found: dict[str, Any] = json.loads(event.content)
            return found
        # The result of a tool, or what a person knows of a call whose worker was lost.
        if event.content == CONFIRMED:
            return {"output": None}
        if asked is None and node.code is not None:
            ended = program_output(event.content)
            return {"error": asdict(ended)} if isinstance(ended, NodeError) else {"output": ended}
        return {"output": read_value(event.content), "artifact": event.artifact}

    def _failed(self, event: ToolFinished, error: NodeError) -> NodeFinished:
        call = self._state.graph.open_call(event.call_id)
        node = self.graph.nodes[call.activation.node].spec
        # A call that timed out may still act, and the keys of its questions are used.
        may_act = event.status == "timeout" and event.effect == Effect.AT_MOST_ONCE
        has_asked = self._state.calls[event.call_id].questions > 0
        if event.status in _FINAL or may_act or has_asked:
            return NodeFinished(call.call_id, node.name, "error", attempt=call.attempt, error=error)
        retry = self._retry_of(node)
        return failed(call, node, error, retry=retry, duration_ms=event.duration_ms)

    def _retry_of(self, node: NodeSpec) -> RetrySpec:
        executor = self._executors.get(node.name)
        return retry_of(node, None if executor is None else executor.retry)

    def delay_before(self, call: OpenCall) -> float:
        """Return the seconds to wait before a call's attempt."""
        if call.attempt == 1:
            return 0.0
        retry = self._retry_of(self.graph.nodes[call.activation.node].spec)
        return retry.delay_before(call.attempt)

    def _tool_of(self, call_id: str) -> str:
        """Return the tool that serves a call, whose name in the state is its id."""
        activation = self._state.graph.open_call(call_id).activation
        if activation.role == "question":
            return ASK
        node = self.graph.nodes[activation.node].spec
        return node.tool or TOOL_OF_WORK.get(node.work) or f"{NODE}{node.name}"

    def only_writes(self, call_id: str) -> bool:
        """Return True if a call only writes keys of the state."""
        return (
            self.graph.nodes[self._state.graph.open_call(call_id).activation.node].spec.set
            is not None
        )

    def waits(self, call_id: str) -> bool:
        """Return True if a call waits for a run, a person or a time, and runs nothing here."""
        return self._tool_of(call_id) in WAITING

    def effect(self, name: str) -> str:
        """Return the effect class of a call's tool; ``name`` is the call's id."""
        return self._toolbox.effect(self._tool_of(name))

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> ToolResult:
        """Return the result of a call whose waits are all resolved."""
        tool = ToolCall(call.id, self._tool_of(call.name), call.arguments)
        return self._toolbox.resume(tool, outcomes)

    def definitions(self, *, with_artifacts: bool = False) -> tuple[ToolDefinition, ...]:
        """Return nothing: a workflow asks no model itself."""
        return ()

    def examples(self) -> tuple[Message, ...]:
        """Return nothing: a workflow asks no model itself."""
        return ()

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Return why the decision about a call is no longer valid; None: it is valid."""
        return await self._toolbox.lapsed(call_id, key)

    @property
    def free_threads(self) -> int:
        """Number of calls that would have a thread at once."""
        return self._toolbox.free_threads

    def acts_in_thread(self, ready: ReadyCall) -> bool:
        """Return True if the call is a plain function with an effect outside."""
        return self._toolbox.acts_in_thread(ready)

    async def connect(self, ready: ReadyCall) -> ReadyCall | ToolResult:
        """Connect to what a call needs, before its intent."""
        return await self._toolbox.connect(ready)

    async def execute(self, ready: ReadyCall, journal: CallJournal) -> ToolResult | SuspendedCall:
        """Run a call."""
        return await self._toolbox.execute(ready, journal)

    def transaction(self, call_id: str, ready: ReadyCall) -> Callable[[], ToolFinished]:
        """Return a transactional call as a plain function."""
        return self._toolbox.transaction(call_id, ready)

    def store(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a result that is longer than a result may be."""
        return self._toolbox.store(call_id, name, done)

    async def store_from_loop(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a result as ``store`` does, from the loop."""
        return await self._toolbox.store_from_loop(call_id, name, done)

    def is_script(self, ready: ReadyCall) -> bool:
        """Return False: nodes are no scripts."""
        return False

    async def advance_script(
        self, ready: ReadyCall, rounds: Sequence[ScriptCalled], results: Mapping[str, ToolFinished]
    ) -> PausedScript | EndedScript:
        """Fail: nodes are no scripts."""
        raise TypeError("a workflow's node is no script")


def _in_time(
    ready: ReadyCall | ToolResult | ApprovalRequested, seconds: float | None
) -> ReadyCall | ToolResult | ApprovalRequested:
    """Return a call that runs no longer than its node may."""
    if seconds is None or not isinstance(ready, ReadyCall):
        return ready
    prepared = ready.prepared
    limit = min(seconds, prepared.timeout_seconds)
    return replace(ready, prepared=replace(prepared, timeout_seconds=limit))


def _arguments(given: CallInput) -> str:
    """Return the arguments of a node's tool as JSON; the nodes' own tools have none."""
    node = given.node
    if node.code is not None:
        return json.dumps(program_arguments(given), ensure_ascii=False)
    if node.tool is None:
        return "{}"
    arguments = given.message if given.arguments is None else given.arguments
    return json.dumps(arguments, ensure_ascii=False)


def _problems(returned: Any) -> list[str]:
    """Return the problems that a validator found: it returns a list, one sentence, or nothing."""
    if returned in (None, True, ""):
        return []
    if isinstance(returned, list):
        return [str(problem) for problem in returned]
    return ["the message is not valid" if returned is False else str(returned)]
