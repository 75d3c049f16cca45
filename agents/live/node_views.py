"""States of the nodes of a workflow's run, each a part of the run's view. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from agents.live.view_parts import CallView, Parts

NodeState = Literal["waiting", "running", "asks", "done", "failed", "skipped", "cancelled"]
#: States of the open calls of a node; the first that any call has is the node's.
OPEN_STATES: Final[tuple[NodeState, ...]] = ("asks", "running", "waiting")
_ENDED: Final = ("ok", "error", "cancelled")


@dataclass(slots=True)
class NodeView:
    """View of a node.

    Attributes:
        visits: Messages that the node was sent.
        retries: Calls that were repeated after an error.
        last: State since the last call ended.
        open: State of each call without a result.
    """

    visits: int = 0
    retries: int = 0
    last: NodeState = "waiting"
    open: dict[str, NodeState] = field(default_factory=dict)

    def begin(self, call_id: str) -> None:
        """Add a call; the results of an earlier visit no longer count."""
        self.last = "done" if not self.open else self.last
        self.open[call_id] = "waiting"

    def update(self, call: CallView) -> None:
        """Take over the state of a call."""
        if call.status not in _ENDED:
            self.open[call.call_id] = _state(call)
        elif self.open.pop(call.call_id, None) and call.status != "ok":
            self.last = "failed" if call.status == "error" else "cancelled"

    def part(self, *, is_over: bool) -> Parts:
        """Return the node as a part of its run's view."""
        now = set(self.open.values())
        state = next((one for one in OPEN_STATES if one in now), self.last)
        if now and is_over:
            state = "cancelled"
        return {"state": state, "visits": self.visits, "retries": self.retries}


def _state(call: CallView) -> NodeState:
    if call.asked or call.doubt:
        return "asks"
    is_running = call.status == "running" or (call.status == "waiting" and bool(call.children))
    return "running" if is_running else "waiting"


@dataclass(slots=True)
class NodeStates:
    """Views of all nodes that were reached or skipped, by name."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)

    def change(self, name: str) -> NodeView:
        """Return a node, and mark it as changed."""
        self.changed[name] = None
        return self.nodes.setdefault(name, NodeView())

    def begin(self, name: str, call_ids: tuple[str, ...], *, is_visit: bool) -> None:
        """Add an activation of a node."""
        node = self.change(name)
        node.visits += is_visit
        for call_id in call_ids:
            self.names[call_id] = name
            node.begin(call_id)

    def skip(self, name: str) -> None:
        """Mark a node that was skipped."""
        self.change(name).last = "skipped"

    def update(self, call: CallView) -> None:
        """Take over the state of a call; calls of scripts are no node's."""
        if call.call_id in self.names:
            self.change(self.names[call.call_id]).update(call)

    def stop(self) -> None:
        """Mark the nodes with open calls, whose run has ended or begins again."""
        for name, node in self.nodes.items():
            if node.open:
                self.changed[name] = None

    def take_changed(self, *, is_over: bool) -> Iterator[tuple[str, Parts]]:
        """Yield the parts of the nodes that changed, and forget that they did."""
        for name in self.changed:
            yield f"node {name}", self.nodes[name].part(is_over=is_over)
        self.changed.clear()
