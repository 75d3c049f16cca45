"""Compiled graph: nodes with their edges and expressions, ready for routing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from agents.workflows.expressions.expression import Expression, compile_expression
from agents.workflows.expressions.templates import Template, compile_template
from agents.workflows.spec.edge import EdgeKind, EdgeSpec
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.values import RESERVED

#: Settings of a node that are templates.
TEMPLATES: Final = ("task", "arguments", "ask", "set", "on_timeout")


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a switch."""

    when: Expression | None
    target: str
    message: Template | None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge with its compiled expressions.

    Attributes:
        index: Position of the edge in the graph.
        text: The edge as sentences name it, such as ``a, b → c``.
        cases: Cases of a switch; its default is the last one.
    """

    index: int
    kind: EdgeKind
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    text: str
    spec: EdgeSpec
    when: Expression | None
    message: Template | None
    output: Template | None
    select: Expression | None
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node with its outgoing edges and compiled expressions.

    Attributes:
        index: Position of the node in the graph, by which results are merged.
        outgoing: Edges that begin at the node, in order.
        templates: Compiled settings of ``TEMPLATES``, by name; those that the node has.
    """

    index: int
    spec: NodeSpec
    outgoing: tuple[Edge, ...]
    when: Expression | None
    each: Expression | None
    templates: Mapping[str, Template]

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.spec.name

    @property
    def is_terminal(self) -> bool:
        """True if no edge begins at the node, so that its output is the run's."""
        return not self.outgoing


@dataclass(frozen=True, slots=True)
class FanIn:
    """A fan-in: it delivers when each source has sent a message, or no longer can.

    Attributes:
        target: Node that is sent the messages.
        wanted: Number of sources for which it waits.
        bits: Bit of each node.
        feeding: For each source, the bits of the nodes from which a message may still reach it
            without passing this fan-in.
        only: Bits of the nodes all of whose paths lead into this fan-in; 0 if it waits for all.
    """

    edge: Edge
    target: str
    wanted: int
    bits: Mapping[str, int]
    feeding: tuple[int, ...]
    only: int

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources, in their declared order."""
        return self.edge.sources

    @property
    def exclusive(self) -> frozenset[str]:
        """Nodes all of whose paths lead into this fan-in; none if it waits for all."""
        return frozenset(name for name, bit in self.bits.items() if bit & self.only)

    def fed_by(self, nodes: Iterable[str]) -> set[str]:
        """Return the sources that messages at these nodes may still reach."""
        given = any_of(self.bits.get(node, 0) for node in nodes)
        pairs = zip(self.sources, self.feeding, strict=True)
        return {source for source, feeding in pairs if feeding & given}


@dataclass(frozen=True, slots=True)
class Graph:
    """A compiled graph.

    Attributes:
        nodes: Nodes by name, in order.
        edges: Edges in order.
        fan_ins: Fan-ins by the position of their edge, in order.
        output: Output of the run; None: the outputs of the nodes that end it.
    """

    spec: GraphSpec
    nodes: Mapping[str, GraphNode]
    edges: tuple[Edge, ...]
    fan_ins: Mapping[int, FanIn]
    output: Template | None


def compile_graph(spec: GraphSpec) -> Graph:
    """Compile a graph that ``agents.workflows.validation`` finds valid.

    Raises:
        ExpressionError: An expression is refused.
        KeyError: An edge names a node that does not exist.
    """
    edges = tuple(_edge(index, edge) for index, edge in enumerate(spec.edges))
    outgoing: dict[str, list[Edge]] = {node.name: [] for node in spec.nodes}
    for edge in edges:
        for source in edge.sources:
            outgoing[source].append(edge)
    nodes = {
        node.name: _node(index, node, tuple(outgoing[node.name]))
        for index, node in enumerate(spec.nodes)
    }
    return Graph(spec, nodes, edges, _fan_ins(spec, edges), _template(spec.output))


def handler_of(node: NodeSpec) -> str | None:
    """Return the node that is sent the errors of a node; None: none is."""
    return None if node.on_error in RESERVED else node.on_error


def _node(index: int, spec: NodeSpec, outgoing: tuple[Edge, ...]) -> GraphNode:
    sources = {name: getattr(spec, name) for name in TEMPLATES}
    templates = {
        name: compile_template(source) for name, source in sources.items() if source is not None
    }
    return GraphNode(index, spec, outgoing, _condition(spec.when), _condition(spec.each), templates)


def _condition(text: str) -> Expression | None:
    return compile_expression(text) if text else None


def _template(source: Any) -> Template | None:
    return None if source is None else compile_template(source)


def _edge(index: int, spec: EdgeSpec) -> Edge:
    cases = [
        Case(compile_expression(case.when), case.to, _template(case.message)) for case in spec.cases
    ]
    if spec.default is not None:
        cases.append(Case(None, spec.default, None))
    return Edge(
        index,
        spec.kind,
        tuple(dict.fromkeys(spec.sources)),
        spec.targets,
        spec.text,
        spec,
        _condition(spec.when),
        _template(spec.message),
        _template(spec.output),
        _condition(spec.select),
        tuple(cases),
    )


def _fan_ins(spec: GraphSpec, edges: Iterable[Edge]) -> dict[int, FanIn]:
    after = next_nodes(spec)
    bits, ancestors = bits_of(after), find_ancestors(after)
    ends = find_ends(spec)
    found = {}
    for edge in edges:
        if edge.kind != "fan_in":
            continue
        wait, most = edge.spec.wait, len(edge.sources)
        wanted = most if wait == "all" else 1 if wait == "any" else min(int(wait), most)
        has_own = has_own_paths(edge.spec, bits, ancestors)
        before = find_ancestors(next_nodes(spec, without=edge.index)) if has_own else ancestors
        feeding = tuple(before[source] for source in edge.sources)
        only = 0 if wait == "all" else any_of(feeding) & ~any_of(before[end] for end in ends)
        found[edge.index] = FanIn(edge, edge.targets[0], wanted, bits, feeding, only)
    return found


def has_own_paths(edge: EdgeSpec, bits: Mapping[str, int], ancestors: Mapping[str, int]) -> bool:
    """Return True if the paths that avoid a fan-in have to be found for it alone.

    Paths to the sources of one that lies on no cycle avoid it in any case.
    """
    is_on_cycle = bits[edge.targets[0]] & any_of(ancestors[source] for source in edge.sources)
    return edge.wait != "all" or bool(is_on_cycle)


def next_nodes(
    graph: GraphSpec, *, with_errors: bool = True, without: int | None = None
) -> dict[str, set[str]]:
    """Return the nodes that each node may send messages to; names that no node has are included.

    Args:
        graph: The graph.
        with_errors: True if the nodes that handle errors count, too.
        without: Position of an edge that is left out.
    """
    after: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for index, edge in enumerate(graph.edges):
        targets = edge.targets if index != without else ()
        for name in (*edge.sources, *targets):
            after.setdefault(name, set())
        for source in edge.sources:
            after[source].update(targets)
    for node in graph.nodes if with_errors else ():
        if (handler := handler_of(node)) is not None:
            after[node.name].add(handler)
            after.setdefault(handler, set())
    return after


def find_ends(graph: GraphSpec) -> set[str]:
    """Return the nodes that may end the run: those with an end, or without edges of their own."""
    leaving = {source for edge in graph.edges for source in edge.sources}
    ends = {source for edge in graph.edges if edge.kind == "end" for source in edge.sources}
    return ends | {node.name for node in graph.nodes if node.name not in leaving}


def bits_of(names: Iterable[str]) -> dict[str, int]:
    """Return a bit for each name, so that a set of names is one number."""
    return {name: 1 << position for position, name in enumerate(names)}


def any_of(bits: Iterable[int]) -> int:
    """Return a number with the bits of all numbers."""
    return reduce(or_, bits, 0)


def find_ancestors(after: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the bits of the nodes from which each node can be reached, its own included.

    Nodes on a cycle share their ancestors. Each pair of nodes is looked at once, since a cycle
    comes after all those that lead to it (Kosaraju's algorithm).

    Args:
        after: Names that follow each name; all of them are keys.
    """
    bits, before = bits_of(after), reversed_of(after)
    found: dict[str, int] = {}
    for start in reversed(postorder(after)):
        if start in found:
            continue
        ancestors, cycle, pending = 0, {start}, [start]
        while pending:
            name = pending.pop()
            ancestors |= bits[name]
            for source in before[name]:
                if source in found:
                    ancestors |= found[source]
                elif source not in cycle:
                    cycle.add(source)
                    pending.append(source)
        found.update(dict.fromkeys(cycle, ancestors))
    return found


def reversed_of(after: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the nodes before each node, given those after each."""
    before: dict[str, set[str]] = defaultdict(set)
    for name, following in after.items():
        for target in following:
            before[target].add(name)
    return before


def postorder(after: Mapping[str, Iterable[str]]) -> list[str]:
    """Return all names, each after those that follow it unless they lie on a cycle."""
    found: list[str] = []
    seen: set[str] = set()
    pending = [(name, False) for name in after]
    while pending:
        name, is_left = pending.pop()
        if is_left:
            found.append(name)
        elif name not in seen:
            seen.add(name)
            pending.append((name, True))
            pending += [(target, False) for target in after.get(name, ()) if target not in seen]
    return found
