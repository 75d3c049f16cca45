"""Draft of a commit: what routing has decided so far, and the data that its expressions read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agents.workflows.contents import Contents, NodeViews, RunData
from agents.workflows.events import GraphCommitted
from agents.workflows.expressions.errors import EvaluationError
from agents.workflows.expressions.expression import Expression
from agents.workflows.expressions.reference import Reference
from agents.workflows.expressions.templates import Template
from agents.workflows.graph import Edge, Graph
from agents.workflows.records import (
    INPUT,
    Activation,
    Buffered,
    DroppedEdge,
    Fired,
    LateSources,
    NodeMessage,
    Role,
    RunOutput,
    TakenEdge,
    Write,
)
from agents.workflows.routing.outcome import RoutingError, TooLongError
from agents.workflows.state import GraphState, Visit

#: Processor time for one commit. What it does between two looks at the clock is bounded as well.
MAX_SECONDS: Final = 5.0
#: Edges that one commit may write into the journal, each with its reason.
MAX_EDGES: Final = 100_000


@dataclass(frozen=True, slots=True)
class PendingDelivery:
    """A message that the next superstep begins with (see ``Activation``)."""

    node: str
    message: NodeMessage
    role: Role
    items: NodeMessage | None = None
    count: int = 1


@dataclass(slots=True)
class Draft:
    """Draft of a commit.

    Attributes:
        done: Activations whose results are used, in the order of their merge.
        values: Values of the state's keys after their writes.
        contents: Contents of messages.
        steps: Nodes as expressions see them.
        late: Sources whose next message is dropped, by the position of their fan-in.
        seconds: Processor time that may be spent on it.
        began: Processor time of the thread at the start.
    """

    graph: Graph
    state: GraphState
    done: Sequence[Visit]
    values: dict[str, Any]
    contents: Contents
    steps: NodeViews
    taken: list[TakenEdge] = field(default_factory=list)
    dropped: list[DroppedEdge] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    buffered: list[Buffered] = field(default_factory=list)
    late: dict[int, set[str]] = field(default_factory=dict)
    fired: list[Fired] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    yields: list[RunOutput] = field(default_factory=list)
    deliveries: list[PendingDelivery] = field(default_factory=list)
    seconds: float = MAX_SECONDS
    began: float = field(default_factory=time.thread_time)

    def check_work(self, node: str) -> None:
        """Reject a superstep that is too much work.

        Raises:
            TooLongError: Routing takes too long, or too many edges carry or drop a message.
        """
        is_long = time.thread_time() - self.began > self.seconds
        if is_long or len(self.taken) + len(self.dropped) > MAX_EDGES:
            raise TooLongError(
                f'The node "{node}" has sent more than one superstep can route: send fewer or '
                "smaller messages, or decide in a function.",
                node=node,
            )

    def take(self, edge: Edge, source: str, target: str) -> None:
        """Note that an edge carries a message."""
        self.taken.append(TakenEdge(edge.index, source, target))

    def drop(self, edge: Edge, source: str, target: str, reason: str) -> None:
        """Note that an edge carries no message."""
        self.dropped.append(DroppedEdge(edge.index, source, target, reason))

    def roots(self, message: NodeMessage) -> dict[str, Any]:
        """Return the data that expressions about a message read."""
        return {
            "message": self.contents.of(message),
            "state": self.values,
            "input": self.contents.data.input,
            "steps": self.steps,
        }

    def evaluate(
        self,
        expression: Expression | Template,
        message: NodeMessage,
        *,
        node: str = "",
        edge: str = "",
    ) -> Any:
        """Return the value of an expression, or of a template, about a message.

        Raises:
            RoutingError: The expression fails: the run fails, since an error is not "false".
        """
        try:
            return expression.evaluate(self.roots(message))
        except EvaluationError as error:
            place = f"The edge {edge} fails" if edge else f'The node "{node}" fails'
            raise RoutingError(f"{place}: {error}", node=node, edge=edge) from None

    def refer(
        self,
        expression: Expression | Template,
        message: NodeMessage,
        *,
        node: str = "",
        edge: str = "",
    ) -> NodeMessage:
        """Return the value of an expression as a message, by reference if it is a path."""
        value = self.evaluate(expression, message, node=node, edge=edge)
        found = self._reference(expression.path, message)
        return NodeMessage(value=value) if found is None else found

    def _reference(self, path: Reference | None, message: NodeMessage) -> NodeMessage | None:
        match path:
            case ("message", *rest):
                return replace(message, path=(*message.path, *rest))
            case ("input", *rest):
                return NodeMessage(call=INPUT, path=tuple(rest))
            case ("steps", str(name), "output", *rest):
                last = self.steps.last(name)
                return None if last is None else NodeMessage(call=last, path=tuple(rest))
        return None

    def _cancelled_calls(self) -> Iterator[str]:
        for visit_id in self.cancelled:
            call_ids = self.state.visits[visit_id].activation.call_ids
            yield from (one for one in call_ids if one in self.state.calls)

    def committed(self) -> GraphCommitted:
        """Return the commit: the next activations in the order of their nodes."""
        superstep = self.state.commits
        position = {name: node.index for name, node in self.graph.nodes.items()}
        activations, index = [], 0
        for one in sorted(self.deliveries, key=lambda delivery: position[delivery.node]):
            activations.append(
                Activation(
                    f"{superstep}.{index}", one.node, one.message, one.role, one.items, one.count
                )
            )
            index += max(1, one.count)
        return GraphCommitted(
            superstep=superstep,
            finished=tuple(visit.activation.id for visit in self.done),
            taken=tuple(self.taken),
            dropped=tuple(self.dropped),
            writes=tuple(self.writes),
            buffered=tuple(self.buffered),
            fired=tuple(self.fired),
            late=tuple(self._late_sources()),
            cancelled=tuple(self._cancelled_calls()),
            skipped=tuple(self.skipped),
            yields=tuple(self.yields),
            next=tuple(activations),
        )

    def _late_sources(self) -> Iterator[LateSources]:
        for edge, names in self.late.items():
            sources = tuple(sorted(names))
            if sources != self.state.late.get(edge, ()):
                yield LateSources(edge, sources)


def new_draft(
    graph: Graph,
    state: GraphState,
    data: RunData,
    done: Sequence[Visit],
    *,
    merge: Callable[[Graph, GraphState, Sequence[Visit]], dict[str, Any]],
    seconds: float | None = None,
) -> Draft:
    """Return a draft with the writes of the finished activations merged.

    Args:
        graph: The graph.
        state: State before the commit.
        data: Data of the run.
        done: Activations whose results are used, in the order of their merge.
        merge: Merges their writes.
        seconds: Processor time that routing may take; None: ``MAX_SECONDS``.
    """
    contents = Contents(state, data)
    last = {one.activation.node: one.activation.id for one in done}
    steps = NodeViews(graph.nodes, state, contents, last)
    draft = Draft(graph, state, done, merge(graph, state, done), contents, steps)
    draft.seconds = MAX_SECONDS if seconds is None else seconds
    draft.late = {edge: set(sources) for edge, sources in state.late.items()}
    return draft
