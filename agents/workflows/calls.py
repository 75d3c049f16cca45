"""Input of a call, and the event of its error: what an engine asks the graph while nodes run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.workflows.contents import Contents, NodeViews, RunData
from agents.workflows.events import NodeFinished
from agents.workflows.expressions.errors import EvaluationError
from agents.workflows.graph import Graph
from agents.workflows.records import AskedPerson, NodeError, Write
from agents.workflows.spec.node import NodeSpec, RetrySpec
from agents.workflows.state import GraphState, OpenCall


@dataclass(frozen=True, slots=True)
class CallInput:
    """Everything that a call of a node is given, with its templates rendered.

    Attributes:
        node: Settings of the node.
        call: The call.
        message: Message of the node; for a node with ``each``, the entry.
        task: Task of an agent or a workflow.
        arguments: Arguments of a tool; None: the message.
        question: Question of a wait, or of a function that asks a person; None: no person is asked.
        writes: Writes of a node that sets keys of the state.
        on_timeout: Output of a question that no one answers in time, if the node has one.
    """

    node: NodeSpec
    call: OpenCall
    message: Any
    task: Any = None
    arguments: dict[str, Any] | None = None
    question: AskedPerson | None = None
    writes: tuple[Write, ...] = ()
    on_timeout: Any = None

    @property
    def wants_strong_model(self) -> bool:
        """True if the last error has repeated an earlier one, and the node then wants more."""
        if self.node.retry.strong_when != "repeated":
            return False
        errors = self.call.previous_errors
        *earlier, last = [error.fingerprint or error.message for error in errors] or [""]
        return last in earlier


class CallReader:
    """Reader of the inputs of calls, until the next commit.

    Args:
        graph: The graph.
        state: State of its run.
        data: Input and artifacts of the run.
    """

    def __init__(self, graph: Graph, state: GraphState, data: RunData) -> None:
        self._graph = graph
        self._contents = Contents(state, data)
        steps = NodeViews(graph.nodes, state, self._contents, {})
        self._roots = {"state": state.values, "input": data.input, "steps": steps}

    def read(self, call: OpenCall) -> CallInput:
        """Return the input of a call.

        Args:
            call: One of ``state.open_calls()``.

        Raises:
            EvaluationError: A template of the node fails: an error of the call, as any other.
        """
        activation, graph_node = call.activation, self._graph.nodes[call.activation.node]
        node = graph_node.spec
        message = self._contents.of(activation.message)
        if activation.role == "question":
            return CallInput(node, call, message, question=_asked(self._contents, call))
        roots = {"message": message, **self._roots}
        if call.item is not None and activation.items is not None:
            item = self._contents.of(activation.items)[call.item]
            roots |= {"item": item, "index": call.item}
            message = item
        given = {name: one.evaluate(roots) for name, one in graph_node.templates.items()}
        question = None
        if node.ask is not None:
            question = AskedPerson(str(given["ask"]), node.form, node.group, node.timeout)
        return CallInput(
            node,
            call,
            message,
            given.get("task", message),
            given.get("arguments"),
            question,
            tuple(_writes(self._graph, node, given.get("set", {}))),
            given.get("on_timeout"),
        )


def _asked(contents: Contents, call: OpenCall) -> AskedPerson | None:
    """Return the question with which the function's call before this one ended."""
    visit = contents.visit(call.activation.message.call)
    return next((result.asked for result in visit.finished if result.asked is not None), None)


def _writes(graph: Graph, node: NodeSpec, values: Mapping[str, Any]) -> Iterator[Write]:
    for key, value in values.items():
        if key not in graph.spec.state:
            raise EvaluationError(
                f'The node "{node.name}" sets the key "{key}", which state does not declare.'
            )
        yield Write(key, graph.spec.state[key].merge, value)


def retry_of(node: NodeSpec, declared: RetrySpec | None = None) -> RetrySpec:
    """Return the retries of a node: its own, or else those that its executor declares."""
    return declared if declared is not None and node.retry == RetrySpec() else node.retry


def failed(
    call: OpenCall,
    node: NodeSpec,
    error: NodeError,
    *,
    retry: RetrySpec | None = None,
    duration_ms: int = 0,
) -> NodeFinished:
    """Return the event of an error, which says whether the call is repeated.

    Args:
        call: The call.
        node: Settings of its node.
        error: Its error.
        retry: Retries that its executor declares, if it has one.
        duration_ms: Time that the attempt took.
    """
    return NodeFinished(
        call.call_id,
        node.name,
        "error",
        attempt=call.attempt,
        error=error,
        will_retry=call.attempt <= retry_of(node, retry).times,
        duration_ms=duration_ms,
    )


def validated(
    given: CallInput, problems: Sequence[str], *, retry: RetrySpec | None = None
) -> NodeFinished:
    """Return the event of a validator: its message, or an error with the problems of the message.

    Args:
        given: Input of the call.
        problems: Problems that the validator returned.
        retry: Retries that its executor declares.
    """
    call, node = given.call, given.node
    if problems:
        error = NodeError("validation", "; ".join(map(str, problems)))
        return failed(call, node, error, retry=retry)
    return NodeFinished(call.call_id, node.name, output=given.message, attempt=call.attempt)


def expired(given: CallInput) -> NodeFinished:
    """Return the event of a question that no one answered in time."""
    call, node = given.call, given.node
    if node.on_timeout is not None:
        return NodeFinished(call.call_id, node.name, output=given.on_timeout)
    error = NodeError("timeout", "no one answered in time")
    return NodeFinished(call.call_id, node.name, "error", error=error)
