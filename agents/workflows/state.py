"""State of a graph's run as a fold over its events; it needs neither the graph nor any code.

The state has what is alive: open activations, messages of fan-ins that wait, values of the state's
keys, and the results that any of these, or an expression ``steps.NAME.output``, may still read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.records import (
    INPUT,
    Activation,
    Buffered,
    Fired,
    NodeError,
    NodeMessage,
    RunOutput,
    Write,
    order_of,
)
from agents.workflows.state_values import StateValues


@dataclass(slots=True)
class Visit:
    """An activation and the final results of its calls.

    Attributes:
        results: Results by the position of the call; None: none yet.
        open: Number of calls without a result.
    """

    activation: Activation
    results: list[NodeFinished | None]
    open: int

    @property
    def is_complete(self) -> bool:
        """True if every call has a final result."""
        return not self.open

    @property
    def finished(self) -> list[NodeFinished]:
        """Results so far, in the order of the calls."""
        return [result for result in self.results if result is not None]

    @property
    def errors(self) -> list[NodeError]:
        """Errors so far, each with the position of its entry."""
        has_items = self.activation.items is not None
        return [
            replace(result.error, item=position if has_items else None)
            for position, result in enumerate(self.results)
            if result is not None and result.error is not None
        ]


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without a final result.

    Attributes:
        item: Position of its entry; None: the node handles the message itself.
        previous_errors: Errors of its earlier attempts.
    """

    call_id: str
    activation: Activation
    item: int | None
    previous_errors: tuple[NodeError, ...]

    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1."""
        return len(self.previous_errors) + 1


@dataclass(slots=True)
class GraphState:
    """Fold of ``node.finished`` and ``graph.committed``.

    Attributes:
        commits: Commits so far; the next one has this number.
        activated: Calls that were started so far.
        visits: Open activations with their results, by id.
        calls: Activation and position of each call without a final result, by call id.
        previous_errors: Errors of earlier attempts of open calls, by call id.
        produced: Finished activations that something may still read.
        last: Last finished activation of each node.
        visit_counts: Number of finished activations of each node.
        buffers: Messages that wait at a fan-in, oldest first, by edge and source.
        late: Sources whose next message is dropped, by the position of their fan-in.
        values: Values of the state's keys.
        sizes: Size of each of these values as JSON; for numbers, of their last writes.
        yields: Outputs of the run, in order.
        skipped: Nodes that were skipped because of their condition.
    """

    commits: int = 0
    activated: int = 0
    visits: dict[str, Visit] = field(default_factory=dict)
    calls: dict[str, tuple[str, int]] = field(default_factory=dict)
    previous_errors: dict[str, list[NodeError]] = field(default_factory=dict)
    produced: dict[str, Visit] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    visit_counts: dict[str, int] = field(default_factory=dict)
    buffers: dict[int, dict[str, list[NodeMessage]]] = field(default_factory=dict)
    late: dict[int, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    yields: list[RunOutput] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)

    @property
    def is_started(self) -> bool:
        """True once the run's input is delivered."""
        return self.commits > 0

    def open_calls(self) -> Iterator[OpenCall]:
        """Yield the calls without a final result, in the order of their merge."""
        yield from map(self.open_call, sorted(self.calls, key=order_of))

    def open_call(self, call_id: str) -> OpenCall:
        """Return a call without a final result.

        Raises:
            KeyError: The call has one, or was cancelled.
        """
        visit_id, position = self.calls[call_id]
        activation = self.visits[visit_id].activation
        item = position if activation.items is not None else None
        errors = tuple(self.previous_errors.get(call_id, ()))
        return OpenCall(call_id, activation, item, errors)

    def open_visits(self) -> list[Visit]:
        """Return the open activations in the order of their merge.

        The order is that of their ids: a checkpoint in the database does not keep that of keys.
        """
        return [self.visits[visit_id] for visit_id in sorted(self.visits, key=order_of)]

    def artifacts(self) -> set[str]:
        """Return the names of the artifacts that a commit or a call may read."""
        visits = [*self.visits.values(), *self.produced.values()]
        results = [result for visit in visits for result in visit.finished]
        names = {sent.artifact for result in results for sent in result.sends}
        return (names | {result.artifact for result in results}) - {""}

    def finish(self, result: NodeFinished) -> None:
        """Fold the result of a call; results of calls that are not open are left out."""
        if result.call_id not in self.calls:
            return  # cancelled meanwhile
        if result.will_retry:
            if result.error is not None:
                self.previous_errors.setdefault(result.call_id, []).append(result.error)
            return
        visit_id, position = self.calls.pop(result.call_id)
        self.previous_errors.pop(result.call_id, None)
        visit = self.visits[visit_id]
        visit.results[position] = result
        visit.open -= 1

    def preview(self, results: Iterable[NodeFinished]) -> GraphState:
        """Return the state after further results; this one is not changed."""
        found = replace(
            self,
            visits=dict(self.visits),
            calls=dict(self.calls),
            previous_errors={key: [*errors] for key, errors in self.previous_errors.items()},
        )
        for result in results:
            if result.call_id in found.calls:
                visit_id = found.calls[result.call_id][0]
                if found.visits[visit_id] is self.visits[visit_id]:
                    visit = self.visits[visit_id]
                    found.visits[visit_id] = replace(visit, results=[*visit.results])
            found.finish(result)
        return found

    def commit(self, committed: GraphCommitted) -> None:
        """Fold a commit."""
        self.commits = committed.superstep + 1
        state_values = StateValues(self.values, self.sizes)
        for write in committed.writes:
            state_values.write(write)
        for visit_id in committed.finished:
            self._use(visit_id, state_values)
        for call_id in committed.cancelled:
            self._cancel(call_id)
        self._buffer(committed.buffered, committed.fired)
        self.late |= {one.edge: one.sources for one in committed.late}
        self.late = {edge: sources for edge, sources in self.late.items() if sources}
        self.yields += committed.yields
        self.skipped |= set(committed.skipped)
        for activation in committed.next:
            self._activate(activation)
        self._forget_unread()

    def edit(self, values: Mapping[str, Any]) -> None:
        """Replace values of the state, as a fork may."""
        state_values = StateValues(self.values, self.sizes)
        for key, value in values.items():
            state_values.write(Write(key, "set", value))

    def _use(self, visit_id: str, state_values: StateValues) -> None:
        visit = self.visits.pop(visit_id)
        node = visit.activation.node
        for result in visit.finished:
            for write in result.writes:
                state_values.write(write)
        visit.results = [replace(one, writes=()) for one in visit.finished]
        self.produced[visit_id] = visit
        if visit.activation.role != "question":
            self.last[node] = visit_id
            self.visit_counts[node] = self.visit_counts.get(node, 0) + 1

    def _cancel(self, call_id: str) -> None:
        if call_id not in self.calls:
            return  # it has ended just before
        visit_id, _ = self.calls.pop(call_id)
        self.visits.pop(visit_id, None)
        self.previous_errors.pop(call_id, None)

    def _buffer(self, buffered: Iterable[Buffered], fired: Iterable[Fired]) -> None:
        for one in buffered:
            queues = self.buffers.setdefault(one.edge, {})
            queues.setdefault(one.source, []).append(one.message)
        for firing in fired:
            remaining = take_oldest(self.buffers.pop(firing.edge, {}))[1]
            if remaining and not firing.is_cleared:
                self.buffers[firing.edge] = remaining

    def _activate(self, activation: Activation) -> None:
        call_ids = activation.call_ids
        visit = Visit(activation, [None] * len(call_ids), len(call_ids))
        self.visits[activation.id] = visit
        self.activated += len(call_ids)
        for position, call_id in enumerate(call_ids):
            self.calls[call_id] = (activation.id, position)

    def _forget_unread(self) -> None:
        """Drop the results that nothing refers to."""
        read = set(self.last.values())
        for visit in self.visits.values():
            read |= references_of(visit.activation.message)
            if visit.activation.items is not None:
                read |= references_of(visit.activation.items)
        for queues in self.buffers.values():
            read.update(*(references_of(one) for queue in queues.values() for one in queue))
        read.update(*(references_of(one.message) for one in self.yields))
        for visit_id in self.produced.keys() - read:
            del self.produced[visit_id]


def references_of(message: NodeMessage) -> set[str]:
    """Return the activations that a message refers to."""
    found = {message.call} - {"", INPUT}
    for part in message.parts:
        if part.message is not None:
            found |= references_of(part.message)
    return found


def take_oldest(
    queues: dict[str, list[NodeMessage]],
) -> tuple[dict[str, NodeMessage], dict[str, list[NodeMessage]]]:
    """Return the oldest message of each source, and the messages that remain."""
    oldest = {source: queue[0] for source, queue in queues.items() if queue}
    remaining = {source: queue[1:] for source, queue in queues.items() if queue[1:]}
    return oldest, remaining
