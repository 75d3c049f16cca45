"""State of a workflow's run: its graph, and the calls of its open activations."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.journal.events import RunForked
from agents.journal.folding import folds
from agents.llm.messages import ToolCall
from agents.loop.call_state import CallingState, CallState
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.state import GraphState


@dataclass(slots=True)
class WorkflowState(CallingState):
    """State of a run of the kind ``workflow``.

    Each call of an activation is in ``calls`` from the commit that starts it, under the name of its
    node, so that intents, approvals and waits find it. Its result is ``node.finished``: there is no
    ``tool.finished`` of it, which cuts long results.

    Attributes:
        graph: State of the graph.
    """

    graph: GraphState = field(default_factory=GraphState)

    @property
    def step(self) -> int:
        """Number of commits; a run can be forked after each of them."""
        return self.graph.commits

    @folds(NodeFinished)
    def _finish_node(self, result: NodeFinished) -> None:
        self.graph.finish(result)
        call = self.calls.get(result.call_id)
        if call is None:
            return
        self._forget_waits(call)
        if result.will_retry:
            self.calls[result.call_id] = CallState(call.call_id, call.call)
        else:
            del self.calls[result.call_id]

    @folds(GraphCommitted)
    def _commit(self, committed: GraphCommitted) -> None:
        cancelled = [self.graph.visits[one].activation for one in committed.cancelled]
        self.graph.commit(committed)
        for activation in cancelled:
            for call_id in activation.call_ids:
                call = self.calls.pop(call_id, None)
                if call is not None:
                    self._forget_waits(call)
        for activation in committed.next:
            for call_id in activation.call_ids:
                self.calls[call_id] = CallState(call_id, ToolCall(call_id, activation.node, ""))

    @folds(RunForked)
    def _edit_state(self, forked: RunForked) -> None:
        """Apply the edits of a fork to the state of the graph."""
        self.graph.edit(forked.edits.get("state", {}))

    def _forget_waits(self, call: CallState) -> None:
        self._forget(*call.wait_keys)
        self._forget_outcome(call)
        if call.approval_request is not None:
            self._forget(call.approval_request.key)
