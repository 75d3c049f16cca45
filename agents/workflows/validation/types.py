"""Types of messages: edges whose target certainly rejects what their source sends.

Only certain misfits are faults: disjoint types, and a required property that a closed object does
not have. Everything else is checked when a message is delivered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from agents.workflows.expressions.errors import cut
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList, Installation
from heartbit_site.base.schema_references import referenced

_ANY: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})
_MAX_DEPTH: Final = 3
_MAX_PARTS: Final = 200
#: Parts of schemas that are compared in a graph; the rest is checked when it is delivered.
_MAX_WORK: Final = 200_000
#: Plain reference to a part of the document itself.
_LOCAL: Final = re.compile(r"#(?:/[\w$.:~ -]{1,100}){0,10}", re.ASCII)
Schema = Mapping[str, Any]


def check_types(graph: GraphSpec, installation: Installation, faults: FaultList) -> None:
    """Add faults of messages that certainly do not fit."""
    outputs = {node.name: _output_of(node, installation) for node in graph.nodes}
    inputs = {node.name: _input_of(node, installation) for node in graph.nodes}
    schemas = SchemaComparison()
    for name in graph.start:
        problem = schemas.misfit(graph.input, inputs.get(name))
        if problem:
            faults.add(("start",), f'The node "{name}" does not accept the input: {problem}')
    for index, edge in enumerate(graph.edges):
        for source, target in _plain_ends(edge):
            problem = schemas.misfit(outputs.get(source), inputs.get(target))
            if problem:
                faults.add(
                    ("edges", index),
                    f"The edge {edge.text} carries what its target does not accept: {problem}",
                )


def _plain_ends(edge: EdgeSpec) -> Iterator[tuple[str, str]]:
    """Yield the ends of an edge that carries the output of its source unchanged."""
    if edge.kind == "fan_in" or edge.message is not None:
        return
    [source] = edge.sources
    targets = [edge.default] if edge.cases else edge.targets
    for target in (*(case.to for case in edge.cases if case.message is None), *targets):
        if target:
            yield source, target


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


class SchemaComparison:
    """Comparison of the schemas of a graph; a part that is no schema fits everything."""

    def __init__(self) -> None:
        self._left = _MAX_WORK

    def misfit(self, output: Schema | None, accepted: Schema | None) -> str:
        """Return the reason why no value of one schema fits another; empty: some value may fit."""
        if output is None or accepted is None:
            return ""
        return self._misfit(output, accepted, (output, accepted), "the message", 0)

    def _misfit(
        self, output: Any, accepted: Any, roots: tuple[Schema, Schema], name: str, depth: int
    ) -> str:
        given, wanted = self._types(output, roots[0], depth), self._types(accepted, roots[1], depth)
        if not given & wanted:
            return f"{name} is {_listed(given)}, not {_listed(wanted)}."
        if given != {"object"} or depth > _MAX_DEPTH:
            return ""
        output, accepted = self._resolved(output, roots[0]), self._resolved(accepted, roots[1])
        properties = _table(output, "properties")
        for key in self._first(_list(accepted, "required")):
            if isinstance(key, str) and key not in properties and _is_closed(output):
                return f'{name} has no "{cut(key)}", which is required.'
        certain = {key for key in self._first(_list(output, "required")) if isinstance(key, str)}
        wanted_properties = _table(accepted, "properties")
        for key in self._first(wanted_properties):
            if key in properties and key in certain:
                pair = (properties[key], wanted_properties[key])
                problem = self._misfit(*pair, roots, f'"{cut(key)}"', depth + 1)
                if problem:
                    return problem
        return ""

    def _types(self, schema: Any, root: Schema, depth: int) -> frozenset[str]:
        """Return the types of JSON that a schema may accept; whole numbers are numbers."""
        schema = self._resolved(schema, root)
        if depth > _MAX_DEPTH or self._left < 0 or not isinstance(schema, Mapping):
            return _ANY
        alternatives = _list(schema, "anyOf") or _list(schema, "oneOf")
        declared = schema.get("type")
        names = declared if isinstance(declared, list) else [declared]
        if max(len(alternatives), len(names)) > _MAX_PARTS:
            return _ANY
        if alternatives:
            found = [self._types(one, root, depth + 1) for one in self._first(alternatives)]
            return frozenset().union(*found)
        known = {name for name in self._first(names) if isinstance(name, str)}
        return _ANY & {"number" if name == "integer" else name for name in known} or _ANY

    def _resolved(self, schema: Any, root: Schema) -> Any:
        """Return the schema behind references within the document; True: any value."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                return schema
            reference = schema["$ref"]
            if not isinstance(reference, str) or not _LOCAL.fullmatch(reference):
                return True
            self._left -= reference.count("/")
            schema = referenced(reference, root)
        return True

    def _first(self, parts: Collection[Any]) -> list[Any]:
        """Return the first parts, and take them from the work that is left."""
        found = list(islice(parts, _MAX_PARTS))
        self._left -= 1 + len(found)
        return found


def _table(schema: Any, keyword: str) -> Mapping[str, Any]:
    value = schema.get(keyword) if isinstance(schema, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(schema: Any, keyword: str) -> list[Any]:
    value = schema.get(keyword) if isinstance(schema, Mapping) else None
    return value if isinstance(value, list) else []


def _is_closed(schema: Any) -> bool:
    """Return True if objects have no other properties than those that the schema lists."""
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _listed(types: frozenset[str]) -> str:
    return " or ".join(sorted(types))
