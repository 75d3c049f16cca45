"""View of a workflow's run: its supersteps with their calls, and the states of its nodes. Pure.

A node's part, ``node NAME``, colours it in the drawing of the graph::

    {"node review": {"state": "running", "visits": 2, "retries": 0}}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.journal.events import RecordedEvent
from agents.journal.folding import folds
from agents.live.node_views import NodeStates
from agents.live.view import RunView
from agents.live.view_parts import CallView, Parts
from agents.workflows.events import GraphCommitted, NodeFinished
from heartbit_site.base.visible_text import readable_json


@dataclass(slots=True)
class WorkflowView(RunView):
    """View of a run of the kind ``workflow``; a superstep is shown as a turn."""

    _nodes: NodeStates = field(default_factory=NodeStates)

    def fold(self, recorded: RecordedEvent) -> Parts | None:
        """Apply an event (see ``RunView``); changed calls change their nodes."""
        was_over = self.over
        changed = RunView.fold(self, recorded)
        if changed is None:
            return None
        for name in changed:
            kind, _, call_id = name.partition(" ")
            if kind == "call":
                self._nodes.update(self.calls[call_id])
        if self.over != was_over:
            self._nodes.stop()
        nodes = dict(self._nodes.take_changed(is_over=self.over))
        self._kept |= nodes
        return changed | nodes

    def at_work(self, writing: object) -> str:
        """Return what the run is doing while it runs no call (see ``RunView``)."""
        return "routes messages"

    @folds(GraphCommitted)
    def _committed(self, event: GraphCommitted) -> None:
        self.turn = event.superstep
        self._times.close("queue", self._at)
        for call_id in event.cancelled:
            self._call(call_id).status = "cancelled"
        for name in event.skipped:
            self._nodes.skip(name)
        for one in event.next:
            is_visit = one.role in ("run", "wait")
            self._nodes.begin(one.node, one.call_ids, is_visit=is_visit)
        nodes = {call_id: one.node for one in event.next for call_id in one.call_ids}
        for call_id, node in nodes.items():
            self.calls[call_id] = CallView(call_id, node, "")
            self._changed[f"call {call_id}"] = None
        if nodes:
            turn = self._turn(event.superstep, ())
            turn |= {"superstep": True, "calls": list(nodes)}
            self._keep(f"turn {event.superstep}", turn)

    @folds(NodeFinished)
    def _node_finished(self, event: NodeFinished) -> None:
        call = self._call(event.call_id)
        call.asked = call.doubt = False
        if event.will_retry:
            call.status = "pending"
            self._nodes.change(event.node).retries += 1
            return
        call.status = "error" if event.error is not None else "ok"
        output = "" if event.output is None else readable_json(event.output)
        call.result = output if event.error is None else event.error.message
        call.duration_ms = event.duration_ms
        if not call.children:
            self._times.add(
                "tool", self.created_at, self._at, event.duration_ms, call=event.call_id
            )
