"""Functions of a workflow as tools: the call of an executor, with its context."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from agents.definitions import validators
from agents.journal.events import encode
from agents.loop.workflow.node_tool import NODE, node_tool
from agents.workflows.calls import CallInput
from agents.workflows.executors.context import AskedPersonError
from agents.workflows.executors.executor import Executor, Handler
from agents.workflows.executors.recording import RecordingContext
from agents.workflows.graph import Graph, GraphNode
from agents.workflows.records import AskedPerson
from agents.workflows.state import GraphState
from heartbit_site.base.toolspec import ToolContext, ToolSpec

#: Fields of ``NodeFinished`` that a function decides.
_RESULT: Final = frozenset({"output", "sends", "writes", "yields", "asked"})


class FunctionCaller:
    """Caller of one node's executor.

    Args:
        executor: The executor.
        graph: The graph of the node.
        state: State of the run.
        inputs: Input of each call that runs, by call id.
    """

    def __init__(
        self,
        executor: Executor,
        graph: Graph,
        state: GraphState,
        inputs: Mapping[str, CallInput],
    ) -> None:
        self._executor = executor
        self._graph, self._state, self._inputs = graph, state, inputs

    def tool(self, node: GraphNode) -> ToolSpec:
        """Return the tool that serves a node; a plain function has a thread, as any tool."""
        executor = self._executor
        return node_tool(
            f"{NODE}{node.name}",
            self.call_async if executor.run.is_async else self.call,
            effect=executor.effect,
            timeout_seconds=node.spec.timeout or executor.timeout_seconds,
        )

    def call(self, context: ToolContext) -> dict[str, Any]:
        """Call a plain function."""
        handler, arguments, recording = self._prepared(context)
        try:
            returned = handler.target(**arguments)
        except AskedPersonError:
            returned = None
        return _result(recording, handler.result(returned))

    async def call_async(self, context: ToolContext) -> dict[str, Any]:
        """Call a coroutine function; a plain one that handles answers is called alike."""
        handler, arguments, recording = self._prepared(context)
        try:
            returned = handler.target(**arguments)
            if inspect.isawaitable(returned):
                returned = await returned
        except AskedPersonError:
            returned = None
        return _result(recording, handler.result(returned))

    def _prepared(self, context: ToolContext) -> tuple[Handler, dict[str, Any], RecordingContext]:
        given = self._inputs[context.call_id]
        is_reply = given.call.activation.role == "reply"
        handler = self._executor.reply if is_reply else self._executor.run
        if handler is None:
            raise ValueError(
                f"the executor {self._executor.name!r} has asked a person, but handles no answer: "
                "give it a reply"
            )
        asked = self._asked(given) if is_reply else None
        recording = RecordingContext(
            context.call_id,
            given.node.name,
            idempotency_key=context.idempotency_key,
            http=context.http,
            keys=self._graph.spec.state,
            # In this order no state is certain: nodes read it at different moments in each run.
            values=None if self._graph.spec.order == "ready" else self._state.values,
            previous_errors=given.call.previous_errors,
            question_state=None if asked is None else asked.state,
            emit=context.emit,
        )
        return handler, handler.arguments(given.message, recording), recording

    def _asked(self, given: CallInput) -> AskedPerson | None:
        """Return the question whose answer a call handles, if it had data."""
        answered = self._state.produced[given.call.activation.message.call]
        return next((one.asked for one in answered.finished if one.asked is not None), None)


def _result(recording: RecordingContext, output: Any) -> dict[str, Any]:
    """Return the fields of ``NodeFinished`` that a call has recorded."""
    recorded: dict[str, Any] = encode(recording.finished(output))["payload"]
    own = {name: value for name, value in recorded.items() if name in _RESULT}
    validators.storable_json(own)
    return own
