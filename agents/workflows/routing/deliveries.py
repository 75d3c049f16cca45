"""Delivery of messages to nodes: their check, conditions of nodes, and entries of lists."""

from __future__ import annotations

from typing import Any

from agents.workflows.graph import Edge, GraphNode, handler_of
from agents.workflows.records import NodeMessage, Role
from agents.workflows.routing.draft import Draft, PendingDelivery
from agents.workflows.routing.outcome import RoutingError
from heartbit_site.base.jsonschema import validate


def deliver(draft: Draft, target: str, message: NodeMessage) -> str:
    """Deliver a message to a node.

    Returns:
        Problem of the message, by the node's input schema; empty: it is delivered, or the node is
        skipped because of its condition.

    Raises:
        RoutingError: An expression of the node fails, or a list is too long.
    """
    draft.check_work(target)
    node = draft.graph.nodes[target]
    if node.spec.input is not None:
        problems = validate(node.spec.input, draft.contents.of(message))
        if problems:
            return "; ".join(problems)
    if node.when is not None and not draft.evaluate(node.when, message, node=target):
        draft.skipped.append(target)
        return ""
    items, count = _items(draft, node, message)
    role: Role = "wait" if node.spec.is_wait else "run"
    draft.deliveries.append(PendingDelivery(target, message, role, items, count))
    return ""


def _items(draft: Draft, node: GraphNode, message: NodeMessage) -> tuple[NodeMessage | None, int]:
    if node.each is None:
        return None, 1
    items = draft.refer(node.each, message, node=node.name)
    found = draft.contents.of(items)
    if not isinstance(found, list | tuple):
        raise RoutingError(
            f'The node "{node.name}" fails: its each, "{node.spec.each}", is no list.',
            node=node.name,
        )
    most = draft.graph.spec.limits.items
    if len(found) > most:
        raise RoutingError(
            f'The node "{node.name}" is given {len(found):,} entries, and {most:,} are accepted: '
            "give it fewer, or raise limits.items.",
            node=node.name,
            limit="items",
        )
    return items, len(found)


def send(draft: Draft, edge: Edge, source: str, target: str, message: NodeMessage) -> None:
    """Send a message along an edge; a message that its target rejects is the source's error.

    Raises:
        RoutingError: The message does not fit, and the source's errors end the run.
    """
    problem = deliver(draft, target, message)
    if not problem:
        draft.take(edge, source, target)
        return
    sender = draft.graph.nodes[source]
    sentence = f'"{target}" does not accept the message of "{source}": {problem}'
    draft.drop(edge, source, target, sentence)
    handler = handler_of(sender.spec)
    if handler is not None:
        send_error(draft, sender, [{"type": "message", "message": sentence, "item": None}])
    elif sender.spec.on_error == "fail":
        raise RoutingError(
            f"The node {sentence}. Change the output of one or the input of the other.",
            node=source,
            edge=edge.text,
        )


def send_error(draft: Draft, sender: GraphNode, errors: list[dict[str, Any]]) -> None:
    """Send the errors of a node to the node that handles them.

    Raises:
        RoutingError: The handler does not accept the message.
    """
    handler = handler_of(sender.spec) or ""
    content = {"node": sender.name, "error": errors[0], "errors": errors}
    problem = deliver(draft, handler, NodeMessage(value=content))
    if problem:
        raise RoutingError(
            f'The node "{handler}" does not accept the error of "{sender.name}": {problem}.',
            node=sender.name,
        )
