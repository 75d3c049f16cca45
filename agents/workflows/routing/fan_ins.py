"""Fan-ins: each delivers when every source has sent a message, or no longer can.

A source can still send one while an activation, a message, an open question or a fan-in that waits
lies on a path to the source that avoids the fan-in itself. Counting only activations is not enough:
with several fan-ins, a node behind one that waits looks idle, and another would deliver with a
source missing. Fan-ins that wait only for each other deliver in their declared order.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from agents.workflows.graph import FanIn
from agents.workflows.records import FanInPart, Fired, NodeMessage
from agents.workflows.routing.deliveries import deliver
from agents.workflows.routing.draft import Draft
from agents.workflows.routing.edges import applies, mapped
from agents.workflows.routing.outcome import RoutingError
from agents.workflows.state import take_oldest

#: Messages that wait, by edge and source.
Buffers = dict[int, dict[str, list[NodeMessage]]]


def fire_fan_ins(draft: Draft) -> Buffers:
    """Deliver the messages of all fan-ins that need not wait, and return those that wait.

    Raises:
        RoutingError: An expression of a fan-in fails, or its target rejects the messages.
    """
    buffers = _buffers(draft)
    while buffers:
        alive = _alive(draft)
        due = (index for index in sorted(buffers) if _is_due(draft, index, buffers, alive))
        index = next(due, None)
        if index is None and not alive:
            index = min(buffers)  # they wait only for each other
        if index is None:
            break
        _fire(draft, draft.graph.fan_ins[index], buffers)
    for index, sources in draft.late.items():
        fan_in = draft.graph.fan_ins[index]
        sources.intersection_update(_reached(draft, fan_in, buffers, _alive(draft)))
    return buffers


def _buffers(draft: Draft) -> Buffers:
    buffers: Buffers = {
        edge: {source: list(queue) for source, queue in queues.items()}
        for edge, queues in draft.state.buffers.items()
    }
    for one in draft.buffered:
        buffers.setdefault(one.edge, {}).setdefault(one.source, []).append(one.message)
    return buffers


def _alive(draft: Draft) -> set[str]:
    """Return the nodes that have a message or an open activation."""
    ended = {visit.activation.id for visit in draft.done} | set(draft.cancelled)
    found = {delivery.node for delivery in draft.deliveries}
    open_visits = (
        visit.activation for key, visit in draft.state.visits.items() if key not in ended
    )
    return found | {activation.node for activation in open_visits}


def _is_due(draft: Draft, index: int, buffers: Buffers, alive: set[str]) -> bool:
    fan_in, queues = draft.graph.fan_ins[index], buffers[index]
    draft.check_work(fan_in.target)
    missing = {source for source in fan_in.sources if not queues.get(source)}
    if len(fan_in.sources) - len(missing) >= fan_in.wanted:
        return True
    return not missing & _reached(draft, fan_in, buffers, alive)


def _reached(draft: Draft, fan_in: FanIn, buffers: Buffers, alive: set[str]) -> set[str]:
    """Return the sources of a fan-in that can still send it a message."""
    others = {draft.graph.fan_ins[edge].target for edge in buffers if edge != fan_in.edge.index}
    return fan_in.fed_by(alive | others)


def _fire(draft: Draft, fan_in: FanIn, buffers: Buffers) -> None:
    edge = fan_in.edge
    oldest, remaining = take_oldest(buffers.pop(edge.index))
    if edge.spec.wait == "all":
        draft.fired.append(Fired(edge.index))
        if remaining:
            buffers[edge.index] = remaining
        chosen = oldest
    else:
        names = [source for source in fan_in.sources if source in oldest][: fan_in.wanted]
        chosen = {source: oldest[source] for source in names}
        _leave_rest(draft, fan_in, buffers, oldest.keys() - chosen.keys())
    _deliver(draft, fan_in, _combined(fan_in, chosen))


def _leave_rest(draft: Draft, fan_in: FanIn, buffers: Buffers, unused: AbstractSet[str]) -> None:
    """Drop the messages for which a fan-in does not wait, those that are still to come included."""
    edge, target = fan_in.edge, fan_in.target
    for source in sorted(unused):
        draft.drop(edge, source, target, "the fan-in has the messages for which it waits")
    cancelled = _cancel_rest(draft, fan_in, buffers)
    late = _reached(draft, fan_in, buffers, _alive(draft))
    taken = {one.source for one in draft.buffered if one.edge == edge.index}
    queued = draft.state.buffers.get(edge.index, {}).keys()
    draft.late.setdefault(edge.index, set()).update(late - taken - queued)
    draft.fired.append(Fired(edge.index, is_cleared=True))
    draft.fired += cancelled


def _combined(fan_in: FanIn, chosen: dict[str, NodeMessage]) -> NodeMessage:
    """Return one message of several: an object by source, or the only one of ``any``."""
    if fan_in.edge.spec.wait == "any":
        [message] = chosen.values()
        return message
    sources = list(fan_in.sources)
    if fan_in.edge.spec.wait != "all":
        sources = [one for one in sources if one in chosen]
    return NodeMessage(parts=tuple(FanInPart(source, chosen.get(source)) for source in sources))


def _deliver(draft: Draft, fan_in: FanIn, message: NodeMessage) -> None:
    edge, target = fan_in.edge, fan_in.target
    names = ", ".join(fan_in.sources)
    if not applies(draft, edge, names, message, target):
        return
    problem = deliver(draft, target, mapped(draft, edge, names, message))
    if problem:
        raise RoutingError(
            f"The edge {edge.text} fails: its target does not accept the message: {problem}.",
            edge=edge.text,
        )
    for source in fan_in.sources:
        draft.take(edge, source, target)


def _cancel_rest(draft: Draft, fan_in: FanIn, buffers: Buffers) -> list[Fired]:
    """Cancel everything that leads to the fan-in alone; return the fan-ins that are emptied."""
    exclusive = fan_in.exclusive
    draft.deliveries = [one for one in draft.deliveries if one.node not in exclusive]
    ended = {visit.activation.id for visit in draft.done} | set(draft.cancelled)
    activations = [visit.activation for visit in draft.state.open_visits()]
    draft.cancelled += [
        one.id for one in activations if one.id not in ended and one.node in exclusive
    ]
    emptied = [edge for edge in buffers if draft.graph.fan_ins[edge].target in exclusive]
    for edge in emptied:
        del buffers[edge]
    return [Fired(edge, is_cleared=True) for edge in emptied]
