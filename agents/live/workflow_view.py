"""View of a workflow's run: each superstep with the calls of its nodes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agents.journal.folding import folds
from agents.live.view import RunView
from agents.live.view_parts import CallView
from agents.workflows.events import GraphCommitted, NodeFinished
from heartbit_site.base.visible_text import readable_json


@dataclass(slots=True)
class WorkflowView(RunView):
    """View of a run of the kind ``workflow``; a superstep is shown as a turn."""

    def at_work(self, writing: object) -> str:
        """Return what the run is doing while it runs no call (see ``RunView``)."""
        return "routes messages"

    @folds(GraphCommitted)
    def _committed(self, event: GraphCommitted) -> None:
        self.turn = event.superstep
        self._times.close("queue", self._at)
        for call_id in event.cancelled:
            self._call(call_id).status = "cancelled"
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
            return
        call.status = "error" if event.error is not None else "ok"
        output = "" if event.output is None else readable_json(event.output)
        call.result = output if event.error is None else event.error.message
        call.duration_ms = event.duration_ms
        if not call.children:
            self._times.add(
                "tool", self.created_at, self._at, event.duration_ms, call=event.call_id
            )
