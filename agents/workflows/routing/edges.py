"""Routing of a finished node's messages along its edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents.workflows.expressions.errors import cut, shown
from agents.workflows.graph import Edge, GraphNode, handler_of
from agents.workflows.records import Buffered, NodeMessage, RunOutput
from agents.workflows.routing.deliveries import send, send_error
from agents.workflows.routing.draft import Draft, PendingDelivery
from agents.workflows.routing.outcome import MOST_SHOWN, RoutingError
from agents.workflows.state import Visit


def route_visit(draft: Draft, visit: Visit) -> None:
    """Send the messages of a finished activation along the edges of its node.

    Raises:
        RoutingError: An expression fails, no edge applies, or a message does not fit.
    """
    activation, node = visit.activation, draft.graph.nodes[visit.activation.node]
    yields = len(draft.contents.yields_of(visit))
    for position in range(yields):
        output = NodeMessage(activation.id, "yielded", position)
        draft.yields.append(RunOutput(node.name, output))
    errors = draft.contents.errors_of(visit)
    if errors and handler_of(node.spec) is not None:
        send_error(draft, node, errors)
    elif activation.role == "question":
        draft.deliveries.append(PendingDelivery(node.name, NodeMessage(activation.id), "reply"))
    elif any(result.asked is not None for result in visit.finished):
        _ask(draft, visit, node)
    elif not node.is_terminal:
        _send_all(draft, visit, node)
    elif not yields:
        draft.yields.append(RunOutput(node.name, NodeMessage(activation.id)))


def _ask(draft: Draft, visit: Visit, node: GraphNode) -> None:
    if visit.activation.items is not None:
        raise RoutingError(
            f'The node "{node.name}" asks a person about an entry of its list: ask in a node '
            "without each.",
            node=node.name,
        )
    question = NodeMessage(call=visit.activation.id)
    draft.deliveries.append(PendingDelivery(node.name, question, "question"))


def _send_all(draft: Draft, visit: Visit, node: GraphNode) -> None:
    before = len(draft.dropped)
    for message, target in _messages(draft, visit):
        sent = [_route(draft, edge, node, message, target) for edge in node.outgoing]
        if not any(sent):
            reasons = "; ".join(
                f'to "{one.target or "the end"}": {cut(one.reason)}'
                for one in draft.dropped[before : before + MOST_SHOWN]
            )
            reasons = reasons or f'none leads to "{cut(target)}"'
            raise RoutingError(
                f'No edge of the node "{node.name}" applies ({reasons}): add an edge or a default.',
                node=node.name,
            )


def _messages(draft: Draft, visit: Visit) -> Iterator[tuple[NodeMessage, str]]:
    """Yield the messages of an activation with their only target, if they have one."""
    sends = draft.contents.sends_of(visit)
    for position, sent in enumerate(sends):
        yield NodeMessage(visit.activation.id, "sent", position), sent.target
    has_output = any(result.output is not None or result.artifact for result in visit.finished)
    if has_output or not sends:
        yield NodeMessage(visit.activation.id), ""


def _route(draft: Draft, edge: Edge, node: GraphNode, message: NodeMessage, target: str) -> bool:
    """Send a message along an edge; return True if the edge applies."""
    if target and target not in edge.targets:
        return False
    draft.check_work(node.name)
    match edge.kind:
        case "direct":
            return _send_direct(draft, edge, node.name, message)
        case "switch":
            return _send_case(draft, edge, node.name, message)
        case "fan_out":
            return _send_selected(draft, edge, node.name, message, target)
        case "fan_in" if node.name in draft.late.get(edge.index, ()):
            draft.late[edge.index].remove(node.name)
            draft.drop(edge, node.name, edge.targets[0], "the fan-in did not wait for it")
            return True
        case "fan_in":
            draft.buffered.append(Buffered(edge.index, node.name, message))
            return True
        case "end":
            return _end(draft, edge, node.name, message)


def applies(draft: Draft, edge: Edge, source: str, message: NodeMessage, target: str) -> bool:
    """Return True if the condition of an edge holds; otherwise note that it is dropped."""
    if edge.when is None or draft.evaluate(edge.when, message, node=source, edge=edge.text):
        return True
    draft.drop(edge, source, target, f"{shown(edge.spec.when)} is false")
    return False


def mapped(draft: Draft, edge: Edge, source: str, message: NodeMessage) -> NodeMessage:
    """Return the message that an edge carries for a message of its source."""
    if edge.message is None:
        return message
    return draft.refer(edge.message, message, node=source, edge=edge.text)


def _send_direct(draft: Draft, edge: Edge, source: str, message: NodeMessage) -> bool:
    [target] = edge.targets
    if not applies(draft, edge, source, message, target):
        return False
    send(draft, edge, source, target, mapped(draft, edge, source, message))
    return True


def _send_case(draft: Draft, edge: Edge, source: str, message: NodeMessage) -> bool:
    for case in edge.cases:
        draft.check_work(source)
        place = {"node": source, "edge": edge.text}
        if case.when is not None and not draft.evaluate(case.when, message, **place):
            continue
        template = case.message or edge.message
        sent = message if template is None else draft.refer(template, message, **place)
        send(draft, edge, source, case.target, sent)
        return True
    for target in edge.targets:
        draft.drop(edge, source, target, "no case applies")
    return False


def _send_selected(draft: Draft, edge: Edge, source: str, message: NodeMessage, only: str) -> bool:
    targets = edge.targets
    if not applies(draft, edge, source, message, ", ".join(targets)):
        return False
    chosen = set(targets)
    if edge.select is not None:
        value = draft.evaluate(edge.select, message, node=source, edge=edge.text)
        chosen = _selected(edge, source, value)
    chosen = chosen & {only} if only else chosen
    sent = mapped(draft, edge, source, message)
    for target in targets:
        if target in chosen:
            send(draft, edge, source, target, sent)
        else:
            draft.drop(edge, source, target, "not selected")
    return bool(chosen)


def _selected(edge: Edge, source: str, value: Any) -> set[str]:
    targets = edge.targets
    entries = value if isinstance(value, list | tuple) else [value]
    known, chosen = set(targets), set()
    for entry in entries:
        is_position = isinstance(entry, int) and not isinstance(entry, bool)
        if is_position and 0 <= entry < len(targets):
            chosen.add(targets[entry])
        elif isinstance(entry, str) and entry in known:
            chosen.add(entry)
        else:
            raise RoutingError(
                f"The edge {edge.text} fails: {entry!r:.60} is chosen, which is no "
                f"target; targets are {', '.join(targets[:MOST_SHOWN])}, or positions from 0.",
                node=source,
                edge=edge.text,
            )
    return chosen


def _end(draft: Draft, edge: Edge, source: str, message: NodeMessage) -> bool:
    if not applies(draft, edge, source, message, ""):
        return False
    if edge.output is not None:
        message = draft.refer(edge.output, message, node=source, edge=edge.text)
    draft.yields.append(RunOutput(source, message))
    draft.take(edge, source, "")
    return True
