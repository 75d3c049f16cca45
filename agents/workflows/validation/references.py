"""References of expressions: to nodes, keys of the state, the entry of a list, and typed data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.workflows.expressions.expression import compile_expression
from agents.workflows.expressions.reference import Reference
from agents.workflows.expressions.templates import compile_template
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList, Place
from tools.texts.near_names import hint

STEP_KEYS: Final = ("output", "error", "errors", "visits")
_TEMPLATES: Final = ("task", "arguments", "ask", "set")
_ITEM_ROOTS: Final = ("item", "index")


@dataclass(frozen=True, slots=True)
class Use:
    """An expression or a template of a graph, and the paths that it reads.

    Attributes:
        subject: Subject of sentences about it.
        node: Node whose message it reads; empty: none.
        is_edge: True if it is evaluated after the node has finished.
        has_item: True if it may read the entry of a list.
    """

    place: Place
    subject: str
    node: str
    references: frozenset[Reference]
    is_edge: bool = False
    has_item: bool = False


def uses_of(graph: GraphSpec) -> Iterator[Use]:
    """Yield the expressions and templates of a graph."""
    for index, node in enumerate(graph.nodes):
        yield from _uses_of_node(index, node)
    for index, edge in enumerate(graph.edges):
        place, subject = ("edges", index), f"The edge {edge.text}"
        found = _expression(edge.when) | _expression(edge.select)
        found |= _template(edge.message) | _template(edge.output)
        for case in edge.cases:
            found |= _expression(case.when) | _template(case.message)
        for source in edge.sources:
            yield Use(place, subject, source, frozenset(found), is_edge=True)
    yield Use(("output",), "The output of the workflow", "", frozenset(_template(graph.output)))


def _uses_of_node(index: int, node: NodeSpec) -> Iterator[Use]:
    here, subject = ("nodes", index), f'The node "{node.name}"'
    for name in ("when", "each"):
        found = _expression(getattr(node, name))
        yield Use((*here, name), f"{subject} ({name})", node.name, frozenset(found))
    for name in _TEMPLATES:
        found = _template(getattr(node, name))
        yield Use(
            (*here, name),
            f"{subject} ({name})",
            node.name,
            frozenset(found),
            has_item=bool(node.each),
        )


def _expression(text: str) -> set[Reference]:
    return set(compile_expression(text).references) if text else set()


def _template(source: Any) -> set[Reference]:
    return set() if source is None else set(compile_template(source).references)


def check_references(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of paths that expressions read and that cannot exist."""
    nodes = {node.name: node for node in graph.nodes}
    for use in uses_of(graph):
        for path in sorted(use.references, key=str):
            problem = _problem(graph, nodes, use, path)
            if problem:
                faults.add(use.place, f"{use.subject} reads {problem}")


def _problem(graph: GraphSpec, nodes: Mapping[str, NodeSpec], use: Use, path: Reference) -> str:
    match path:
        case (("item" | "index") as root, *_) if not use.has_item:
            return f'"{root}", which only the templates of a node with each have.'
        case ("message", *_) if not use.node:
            return '"message", and there is none at the end: read steps, state or input.'
        case ("state", key, *_) if key not in graph.state:
            return (
                f'the undeclared key "{key}" of the state; {hint(str(key), graph.state, most=10)}'
            )
        case ("steps", name, *_) if name not in nodes:
            return f'the unknown node "{name}"; {hint(str(name), nodes, most=10)}'
        case ("steps", _, key, *_) if key not in STEP_KEYS:
            return f'"{key}" of a node, which has {", ".join(STEP_KEYS)}.'
        case ("input", *keys):
            return _missing(graph.input, keys, "the input")
        case ("steps", str(name), "output", *keys) if not nodes[name].each:
            return _missing(nodes[name].output, keys, f'the output of "{name}"')
        case ("message", *keys) if use.is_edge and len(_edge_sources(graph, use)) == 1:
            node = nodes.get(use.node)
            if node is not None and not node.each:
                return _missing(node.output, keys, f'the output of "{node.name}"')
    return ""


def _edge_sources(graph: GraphSpec, use: Use) -> tuple[str, ...]:
    edge = graph.edges[int(use.place[1])]
    return () if edge.kind == "fan_in" else edge.sources


def _missing(schema: Mapping[str, Any] | None, keys: list[str | int], name: str) -> str:
    """Return the end of a sentence about a key that a closed schema does not have."""
    if schema is None or not keys or not isinstance(keys[0], str):
        return ""
    properties = schema.get("properties")
    if schema.get("additionalProperties") is not False or not isinstance(properties, dict):
        return ""
    if keys[0] in properties:
        return ""
    return f'"{keys[0]}", which {name} does not have; {hint(keys[0], properties, most=10)}'
