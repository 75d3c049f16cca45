"""Types of messages: edges whose target certainly rejects what their source sends.

Only certain misfits are faults: disjoint types, and a required property that a closed object does
not have. Everything else is checked when a message is delivered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList, Installation
from heartbit_site.base.schema_references import referenced

_ANY: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})
_MAX_DEPTH: Final = 3
_MAX_PROPERTIES: Final = 200
Schema = Mapping[str, Any]


def check_types(graph: GraphSpec, installation: Installation, faults: FaultList) -> None:
    """Add faults of messages that certainly do not fit."""
    nodes = {node.name: node for node in graph.nodes}
    for name in graph.start:
        node = nodes.get(name)
        problem = misfit(graph.input, _input_of(node, installation)) if node is not None else ""
        if problem:
            faults.add(("start",), f'The node "{name}" does not accept the input: {problem}')
    for index, source, target, text in _plain_edges(graph):
        if source in nodes and target in nodes:
            output = _output_of(nodes[source], installation)
            problem = misfit(output, _input_of(nodes[target], installation))
            if problem:
                faults.add(
                    ("edges", index),
                    f"The edge {text} carries what its target does not accept: {problem}",
                )


def _plain_edges(graph: GraphSpec) -> Iterator[tuple[int, str, str, str]]:
    """Yield the ends of edges that carry the output of their source unchanged."""
    for index, edge in enumerate(graph.edges):
        if edge.kind == "fan_in" or edge.message is not None:
            continue
        for case in edge.cases:
            if case.message is None:
                yield index, edge.sources[0], case.to, edge.text
        targets = [edge.default] if edge.cases else edge.targets
        for target in targets:
            if target:
                yield index, edge.sources[0], target, edge.text


def _function(node: NodeSpec, installation: Installation) -> Any:
    name = node.executor
    return (installation.functions or {}).get(name) if name else None


def _output_of(node: NodeSpec, installation: Installation) -> Schema | None:
    function = _function(node, installation)
    schema = node.output or node.form or (function.output if function else None)
    if node.on_error == "continue":
        return None  # null, after an error
    return {"type": "array"} if node.each else schema


def _input_of(node: NodeSpec, installation: Installation) -> Schema | None:
    function = _function(node, installation)
    return node.input or (None if node.each or function is None else function.input)


def misfit(output: Schema | None, accepted: Schema | None) -> str:
    """Return the reason why no value of one schema fits another; empty: some value may fit."""
    if output is None or accepted is None:
        return ""
    return _misfit(output, accepted, (output, accepted), "the message", 0)


def _misfit(output: Any, accepted: Any, roots: tuple[Schema, Schema], name: str, depth: int) -> str:
    output, accepted = _resolved(output, roots[0]), _resolved(accepted, roots[1])
    if depth > _MAX_DEPTH or not isinstance(output, Mapping) or not isinstance(accepted, Mapping):
        return ""
    given, wanted = _types(output, roots[0], depth), _types(accepted, roots[1], depth)
    if not given & wanted:
        return f"{name} is {_listed(given)}, not {_listed(wanted)}."
    if given & wanted != {"object"} or given != {"object"}:
        return ""
    properties, required = output.get("properties", {}), accepted.get("required", [])
    missing = [key for key in required if key not in properties]
    if missing and output.get("additionalProperties") is False:
        return f'{name} has no "{missing[0]}", which is required.'
    certain = set(output.get("required", ()))
    for key, schema in list(accepted.get("properties", {}).items())[:_MAX_PROPERTIES]:
        if key in properties and key in certain:
            problem = _misfit(properties[key], schema, roots, f'"{key}"', depth + 1)
            if problem:
                return problem
    return ""


def _resolved(schema: Any, root: Schema) -> Any:
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = referenced(schema["$ref"], root)
    return True


def _types(schema: Any, root: Schema, depth: int) -> frozenset[str]:
    """Return the types of JSON that a schema may accept; whole numbers are numbers."""
    schema = _resolved(schema, root)
    if depth > _MAX_DEPTH or not isinstance(schema, Mapping):
        return _ANY
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(alternatives, list):
        return frozenset().union(*(_types(one, root, depth + 1) for one in alternatives))
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared] if declared else _ANY
    return frozenset("number" if name == "integer" else str(name) for name in names)


def _listed(types: frozenset[str]) -> str:
    return " or ".join(sorted(types))
