"""State of a workflow's run: its graph, and the open calls of its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from agents.journal.events import RunForked, RunPaused
from agents.journal.folding import folds
from agents.llm.messages import ToolCall
from agents.loop.call_state import CallingState, CallState
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.state import GraphState


@dataclass(slots=True)
class WorkflowState(CallingState):
    """State of a run of the kind ``workflow``.

    Attributes:
        graph: Fold of the graph's events.
        paused: Attempt that each call of a node with a long backoff has paused for, by call id.
        delayed: Calls that may not be served yet, which each step decides; not journaled.
    """

    graph: GraphState = field(default_factory=GraphState)
    paused: dict[str, int] = field(default_factory=dict)
    delayed: Annotated[set[str], Field(exclude=True)] = field(default_factory=set)

    @property
    def step(self) -> int:
        """Number of committed supersteps; a run is forked after each of them."""
        return self.graph.commits

    @folds(GraphCommitted)
    def _commit(self, committed: GraphCommitted) -> None:
        self.graph.commit(committed)
        for call_id in [one for one in self.calls if one not in self.graph.calls]:
            self._drop(call_id)  # cancelled: a fan-in did not wait for it
        for activation in committed.next:
            for call_id in activation.call_ids:
                self.calls[call_id] = CallState(call_id, ToolCall(call_id, call_id, "{}"))

    @folds(NodeFinished)
    def _finish_node(self, finished: NodeFinished) -> None:
        self.graph.finish(finished)
        if finished.call_id not in self.calls:
            return  # cancelled meanwhile
        call = self._drop(finished.call_id)
        if finished.will_retry:  # requests of the next attempt have keys of their own
            self.calls[finished.call_id] = CallState(
                call.call_id,
                call.call,
                lapsed_decisions=call.lapsed_decisions + (call.approval_request is not None),
                outcome_requests=call.outcome_requests,
            )

    @folds(RunPaused)
    def _pause_call(self, paused: RunPaused) -> None:
        call_id, _, attempt = paused.key.removeprefix(PAUSE).rpartition(":")
        self.paused[call_id] = int(attempt)

    @folds(RunForked)
    def _ask_again(self, forked: RunForked) -> None:
        """Edit the state, and begin the calls again whose waits belong to the source run."""
        self.graph.edit(forked.edits.get("state", {}))
        for call_id, call in self.calls.items():
            if super(WorkflowState, self).open_waits(call):
                self.calls[call_id] = CallState(call_id, call.call)

    def _drop(self, call_id: str) -> CallState:
        call = self.calls.pop(call_id)
        self._forget(*call.wait_keys)
        self._forget_outcome(call)
        if call.approval_request is not None:
            self._forget(call.approval_request.key)
        self.paused.pop(call_id, None)
        return call

    def open_waits(self, call: CallState) -> int:
        """Return the number of waits that a call has not seen the end of (see ``CallingState``)."""
        attempt = self.paused.get(call.call_id)
        is_paused = attempt is not None and pause_key(call.call_id, attempt) in self._pauses
        return super(WorkflowState, self).open_waits(call) + is_paused

    def may_run(self, call: CallState) -> bool:
        """Return True if a call can be served now (see ``CallingState``)."""
        return call.call_id not in self.delayed and not self.open_waits(call)

    def holds_barrier(self, call_id: str) -> bool:
        """Return True if the superstep ends only after this call."""
        visit, _ = self.graph.calls[call_id]
        return self.graph.visits[visit].activation.holds_barrier


#: Begin of the key of the pause before an attempt.
PAUSE = "retry:"


def pause_key(call_id: str, attempt: int) -> str:
    """Return the key of the pause before an attempt of a call."""
    return f"{PAUSE}{call_id}:{attempt}"
