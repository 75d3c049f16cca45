"""Compiled graph: nodes with their edges and expressions, ready for routing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.workflows.expressions.expression import Expression, compile_expression
from agents.workflows.expressions.templates import Template, compile_template
from agents.workflows.spec.edge import EdgeKind, EdgeSpec
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.values import RESERVED

CONTINUE: Final = "continue"
FAIL: Final = "fail"


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
    """

    index: int
    spec: NodeSpec
    outgoing: tuple[Edge, ...]
    when: Expression | None
    each: Expression | None

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
        feeding: For each node, the sources that a message at the node may still reach without
            passing this fan-in: a bit for each source, in their order.
        exclusive: Nodes all of whose paths lead into this fan-in.
    """

    edge: Edge
    target: str
    wanted: int
    feeding: Mapping[str, int]
    exclusive: frozenset[str]

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources, in their declared order."""
        return self.edge.sources

    def fed_by(self, nodes: Iterable[str]) -> set[str]:
        """Return the sources that messages at these nodes may still reach."""
        bits = 0
        for node in nodes:
            bits |= self.feeding.get(node, 0)
        return {source for position, source in enumerate(self.sources) if bits >> position & 1}


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
        node.name: GraphNode(
            index, node, tuple(outgoing[node.name]), _condition(node.when), _condition(node.each)
        )
        for index, node in enumerate(spec.nodes)
    }
    fan_ins = {edge.index: _fan_in(edge, nodes) for edge in edges if edge.kind == "fan_in"}
    return Graph(spec, nodes, edges, fan_ins, _template(spec.output))


def handler_of(node: NodeSpec) -> str | None:
    """Return the node that is sent the errors of a node; None: none is."""
    return None if node.on_error in RESERVED else node.on_error


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


def _fan_in(edge: Edge, nodes: Mapping[str, GraphNode]) -> FanIn:
    sources = edge.sources
    wait = edge.spec.wait
    wanted = len(sources) if wait == "all" else 1 if wait == "any" else int(wait)
    before: dict[str, set[str]] = defaultdict(set)
    for node in nodes.values():
        for target in targets_of(node, without=edge.index):
            before[target].add(node.name)
    feeding = _feeding(sources, before)
    ends = [node.name for node in nodes.values() if node.is_terminal or _has_end(node)]
    elsewhere = reachable(ends, before)
    return FanIn(
        edge,
        edge.targets[0],
        min(wanted, len(sources)),
        feeding,
        frozenset(feeding.keys() - elsewhere),
    )


def _feeding(sources: Iterable[str], before: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the sources that each node leads to, as bits (see ``FanIn``)."""
    found: dict[str, int] = defaultdict(int)
    for position, source in enumerate(sources):
        for name in reachable([source], before):
            found[name] |= 1 << position
    return dict(found)


def _has_end(node: GraphNode) -> bool:
    return any(edge.kind == "end" for edge in node.outgoing)


def targets_of(node: GraphNode, *, without: int = -1) -> set[str]:
    """Return the nodes that a node may send messages to, errors included.

    Args:
        node: The node.
        without: Position of an edge that is left out.
    """
    edges = [edge for edge in node.outgoing if edge.index != without]
    found = {target for edge in edges for target in edge.targets}
    handler = handler_of(node.spec)
    return found | ({handler} if handler else set())


def reachable(start: Iterable[str], after: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the nodes that can be reached, the start included.

    Args:
        start: Names of nodes.
        after: Names that follow a name.
    """
    found = set(start)
    pending = list(found)
    while pending:
        for name in after.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found
