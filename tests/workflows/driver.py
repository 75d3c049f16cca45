"""A driver that plays graphs in memory: supersteps, questions and retries, without a database.

Each event goes through its stored form and back, as in a journal, unless a test plays thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agents.journal.events import decode, encode
from agents.workflows.calls import CallInput, CallReader, failed
from agents.workflows.contents import RunData
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.expressions.errors import EvaluationError
from agents.workflows.graph import Graph, compile_graph
from agents.workflows.records import NodeError
from agents.workflows.routing.outcome import GraphFailed, GraphSucceeded
from agents.workflows.routing.route import route
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.state import GraphState, OpenCall

if TYPE_CHECKING:
    from agents.journal.events import Event

#: Function of a node: takes the call's input, returns its output or its whole event.
Work = Callable[[CallInput], Any]
#: Chooses the order in which open calls complete.
Order = Callable[[list[OpenCall]], list[OpenCall]]
MOST_ROUNDS = 100_000


@dataclass
class Played:
    """A run that was played.

    Attributes:
        ending: End of the run; None: it waits for answers.
        events: Its events, in order.
    """

    state: GraphState
    ending: GraphSucceeded | GraphFailed | None
    events: list[Event] = field(default_factory=list)

    @property
    def commits(self) -> list[GraphCommitted]:
        return [event for event in self.events if isinstance(event, GraphCommitted)]

    @property
    def output(self) -> Any:
        assert isinstance(self.ending, GraphSucceeded), self.ending
        return self.ending.output

    @property
    def failure(self) -> GraphFailed:
        assert isinstance(self.ending, GraphFailed), self.ending
        return self.ending

    def runs_of(self, node: str) -> int:
        """Number of calls of a node that finished."""
        finished = [event for event in self.events if isinstance(event, NodeFinished)]
        return sum(event.node == node and not event.will_retry for event in finished)


class Driver:
    """Player of one run.

    Args:
        spec: The graph, or its settings.
        work: Functions by name of the node; a node without one returns its message.
        order: Order in which the calls of a superstep complete.
        input: Input of the run.
        artifacts: Contents of artifacts by name.
        is_stored: True if each event goes through its stored form.
    """

    def __init__(
        self,
        spec: Graph | GraphSpec | Mapping[str, Any],
        work: Mapping[str, Work] | None = None,
        *,
        input: Any = None,
        order: Order = list,
        artifacts: Mapping[str, Any] | None = None,
        is_stored: bool = True,
    ) -> None:
        self.graph = spec if isinstance(spec, Graph) else compiled(spec)
        self._is_stored = is_stored
        self.played = Played(GraphState(), None)
        self.data = RunData(input, (artifacts or {}).__getitem__)
        self._work = work or {}
        self._order = order

    def play(self) -> Played:
        """Play until the run ends, or only waits for answers."""
        for _ in range(MOST_ROUNDS):
            if self.route() or not self.run_open():
                return self.played
        raise AssertionError("the run does not end")

    def answer(self, node: str, answer: Any) -> Played:
        """Answer the open question of a node, and continue."""
        call = next(one for one in self.waiting() if one.activation.node == node)
        self.record(NodeFinished(call.call_id, node, output=answer))
        return self.play()

    def waiting(self) -> list[OpenCall]:
        """Calls that wait for a person or a time."""
        calls = self.played.state.open_calls()
        return [call for call in calls if not call.activation.holds_barrier]

    def route(self) -> bool:
        """Commit while something is due; return True if the run has ended."""
        while (routed := route(self.graph, self.played.state, self.data)) is not None:
            if routed.commit is not None:
                self.record(routed.commit)
            if routed.ending is not None:
                self.played.ending = routed.ending
                return True
        return False

    def run_open(self) -> bool:
        """Run open calls: all of them, or the first one if each is routed at once."""
        calls = [one for one in self.played.state.open_calls() if one.activation.holds_barrier]
        calls = self._order(calls)
        for call in calls if self.graph.spec.order == "barrier" else calls[:1]:
            self.record(self.result(call))
        return bool(calls)

    def given(self, call: OpenCall) -> CallInput:
        return CallReader(self.graph, self.played.state, self.data).read(call)

    def result(self, call: OpenCall) -> NodeFinished:
        """Run a call."""
        name = call.activation.node
        node = self.graph.nodes[name].spec
        try:
            given = self.given(call)
            work = self._work.get(name)
            if given.writes:
                return NodeFinished(call.call_id, name, output=given.message, writes=given.writes)
            found = work(given) if work is not None else given.message
        except (EvaluationError, ValueError) as error:
            return failed(call, node, NodeError(type(error).__name__, str(error)))
        if isinstance(found, NodeFinished):
            return replace(found, call_id=call.call_id, node=name)
        return NodeFinished(call.call_id, name, output=found)

    def record(self, event: Event) -> None:
        """Fold an event, after it has been stored and read."""
        if self._is_stored:
            stored = encode(event)
            event = decode(stored["type"], stored["payload"])
        self.played.events.append(event)
        fold(self.played.state, [event])


def compiled(spec: GraphSpec | Mapping[str, Any]) -> Graph:
    """Compile a graph, or its settings."""
    found = spec if isinstance(spec, GraphSpec) else GraphSpec.model_validate(spec)
    return compile_graph(found)


def fold(state: GraphState, events: Iterable[Event]) -> GraphState:
    """Fold events into a state."""
    for event in events:
        if isinstance(event, NodeFinished):
            state.finish(event)
        elif isinstance(event, GraphCommitted):
            state.commit(event)
    return state


def result(output: Any = None, **fields: Any) -> NodeFinished:
    """Result of a call with more than an output."""
    return NodeFinished("", "", output=output, **fields)


def play(
    spec: GraphSpec | Mapping[str, Any], work: Mapping[str, Work] | None = None, **options: Any
) -> Played:
    """Play a graph."""
    return Driver(spec, work, **options).play()


def functions(*names: str, **settings: Mapping[str, Any]) -> dict[str, Any]:
    """Nodes that call a function of their own name, some with more settings."""
    plain = {name: {"function": name} for name in names}
    return plain | {name: {"function": name, **more} for name, more in settings.items()}
