"""References of expressions: to nodes, keys of the state, the entry of a list, and typed data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.workflows.expressions.expression import compile_expression
from agents.workflows.expressions.reference import Reference
from agents.workflows.expressions.templates import compile_template
from agents.workflows.graph import TEMPLATES
from agents.workflows.records import STEP_KEYS
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList, Place


@dataclass(frozen=True, slots=True)
class Use:
    """An expression or a template of a graph, and the paths that it reads.

    Attributes:
        subject: Subject of sentences about it.
        nodes: Nodes whose messages it reads, or which have then finished; none at the end.
        is_edge: True if it is evaluated after the nodes have finished.
        output_of: Node whose output its message is; empty: another message.
        has_item: True if it may read the entry of a list.
    """

    place: Place
    subject: str
    nodes: tuple[str, ...]
    references: frozenset[Reference]
    is_edge: bool = False
    output_of: str = ""
    has_item: bool = False


def uses_of(graph: GraphSpec) -> Iterator[Use]:
    """Yield the expressions and templates of a graph."""
    for index, node in enumerate(graph.nodes):
        for name in ("when", "each", *TEMPLATES):
            is_template, value = name in TEMPLATES, getattr(node, name)
            yield Use(
                ("nodes", index, name),
                f'The node "{node.name}" ({name})',
                (node.name,),
                _references([], [value]) if is_template else _references([value], []),
                has_item=is_template and bool(node.each),
            )
    for index, edge in enumerate(graph.edges):
        yield Use(
            ("edges", index),
            f"The edge {edge.text}",
            edge.sources,
            _references(
                [edge.when, edge.select, *(case.when for case in edge.cases)],
                [edge.message, edge.output, *(case.message for case in edge.cases)],
            ),
            is_edge=True,
            output_of=edge.sources[0] if edge.kind != "fan_in" else "",
        )
    yield Use(("output",), "The output of the workflow", (), _references([], [graph.output]))


def _references(expressions: Iterable[str], templates: Iterable[Any]) -> frozenset[Reference]:
    """Return the paths that expressions and templates read; those that are not there read none."""
    found = [compile_expression(text).references for text in expressions if text]
    found += [compile_template(source).references for source in templates if source is not None]
    return frozenset().union(*found)


def check_references(graph: GraphSpec, uses: Iterable[Use], faults: FaultList) -> None:
    """Add faults of paths that expressions read and that cannot exist."""
    nodes = {node.name: node for node in graph.nodes}
    for use in uses:
        for path in sorted(use.references, key=str):
            if problem := _problem(graph, nodes, use, path, faults):
                faults.add(use.place, f"{use.subject} reads {problem}")


def _problem(
    graph: GraphSpec, nodes: Mapping[str, NodeSpec], use: Use, path: Reference, faults: FaultList
) -> str:
    match path:
        case (("item" | "index") as root, *_) if not use.has_item:
            return f'"{root}", which only the templates of a node with each have.'
        case ("message", *_) if not use.nodes:
            return '"message", and there is none at the end: read steps, state or input.'
        case ("state", key, *_) if key not in graph.state:
            hint = faults.hint(str(key), graph.state)
            return f'the undeclared key "{key}" of the state{hint}'
        case ("steps", name, *_) if name not in nodes:
            return f'the unknown node "{name}"{faults.hint(str(name), nodes)}'
        case ("steps", _, key, *_) if key not in STEP_KEYS:
            return f'"{key}" of a node, which has {", ".join(STEP_KEYS)}.'
        case ("input", *keys):
            return _missing(graph.input, keys, "the input", faults)
        case ("steps", str(name), "output", *keys) if not nodes[name].each:
            return _missing(nodes[name].output, keys, f'the output of "{name}"', faults)
        case ("message", *keys) if (name := use.output_of) in nodes and not nodes[name].each:
            return _missing(nodes[name].output, keys, f'the output of "{name}"', faults)
    return ""


def _missing(
    schema: Mapping[str, Any] | None, keys: list[str | int], name: str, faults: FaultList
) -> str:
    """Return the end of a sentence about a key that a closed schema does not have."""
    if schema is None or not keys or not isinstance(keys[0], str):
        return ""
    properties = schema.get("properties")
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if not is_closed or not isinstance(properties, dict) or keys[0] in properties:
        return ""
    return f'"{keys[0]}", which {name} does not have{faults.hint(keys[0], properties)}'
