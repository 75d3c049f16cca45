"""Types of messages: edges whose target certainly rejects what their source sends.

Only certain misfits are faults: disjoint types, and a required property that a closed object does
not have. Everything else is checked when a message is delivered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agents.workflows.expressions.errors import cut
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList, Installation, KnownFunction
from heartbit_site.base.schema_references import referenced

_ANY: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})
_MAX_HOPS: Final = 3
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
                end = f"carries what its target does not accept: {problem}"
                faults.add(("edges", index), f"The edge {edge.text} {end}")


def _plain_ends(edge: EdgeSpec) -> Iterator[tuple[str, str]]:
    """Yield the ends of an edge that carries the output of its source unchanged."""
    if edge.kind == "fan_in" or edge.message is not None:
        return
    [source] = edge.sources
    targets = [edge.default] if edge.cases else edge.targets
    for target in (*(case.to for case in edge.cases if case.message is None), *targets):
        if target:
            yield source, target


def _function(node: NodeSpec, installation: Installation) -> KnownFunction:
    return (installation.functions or {}).get(node.executor or "", KnownFunction())


def _output_of(node: NodeSpec, installation: Installation) -> Schema | None:
    if node.on_error == "continue":
        return None  # null, after an error
    schema = node.output or node.form or _function(node, installation).output
    return {"type": "array"} if node.each else schema


def _input_of(node: NodeSpec, installation: Installation) -> Schema | None:
    return node.input or (None if node.each else _function(node, installation).input)


class SchemaComparison:
    """Comparison of the schemas of a graph; a part that is no schema fits everything.

    Of properties only the types are compared, and alternatives within alternatives are left out.
    """

    def __init__(self) -> None:
        self._left = _MAX_WORK

    def misfit(self, output: Schema | None, accepted: Schema | None) -> str:
        """Return the reason why no value of one schema fits another; empty: some value may fit."""
        if output is None or accepted is None:
            return ""
        problem, given = self._disjoint(output, output, accepted, accepted, "the message")
        if problem or given != {"object"}:
            return problem
        inner, wanted = _resolved(output, output), _resolved(accepted, accepted)
        properties, wanted_properties = _table(inner, "properties"), _table(wanted, "properties")
        for key in self._first(_list(wanted, "required")):
            if isinstance(key, str) and key not in properties and _is_closed(inner):
                return f'the message has no "{cut(key)}", which is required.'
        for key in self._first(_list(inner, "required")):
            if isinstance(key, str) and key in properties and key in wanted_properties:
                pair = (properties[key], output, wanted_properties[key], accepted)
                problem, _ = self._disjoint(*pair, f'"{cut(key)}"')
                if problem:
                    return problem
        return ""

    def _disjoint(
        self, output: Any, root: Schema, accepted: Any, accepted_root: Schema, name: str
    ) -> tuple[str, frozenset[str]]:
        """Return the problem of two schemas without a common type, and the types of the first."""
        given, wanted = self._types(output, root), self._types(accepted, accepted_root)
        problem = "" if given & wanted else f"{name} is {_listed(given)}, not {_listed(wanted)}."
        return problem, given

    def _types(self, schema: Any, root: Schema, *, is_inner: bool = False) -> frozenset[str]:
        """Return the types of JSON that a schema may accept; whole numbers are numbers."""
        schema = _resolved(schema, root)
        alternatives = _list(schema, "anyOf") or _list(schema, "oneOf")
        if alternatives:
            if is_inner or len(alternatives) > _MAX_PARTS:
                return _ANY
            found = [self._types(one, root, is_inner=True) for one in self._first(alternatives)]
            return frozenset().union(*found)
        names = _list(schema, "type") or [schema.get("type") if isinstance(schema, Mapping) else 0]
        known = {name for name in self._first(names) if isinstance(name, str)}
        return _ANY & {"number" if name == "integer" else name for name in known} or _ANY

    def _first(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the first parts, and take them from the work that is left."""
        found = parts[:_MAX_PARTS] if self._left > 0 else []
        self._left -= 1 + len(found)
        return found


def _resolved(schema: Any, root: Schema) -> Any:
    """Return the schema behind references within the document; True: any value."""
    for _ in range(_MAX_HOPS):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if reference is None:
            return schema
        if not isinstance(reference, str) or not _LOCAL.fullmatch(reference):
            break
        schema = referenced(reference, root)
    return True


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
