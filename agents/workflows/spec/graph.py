"""Settings of a graph: nodes, edges, state and limits, in the one form that versions pin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from agents.definitions.setting_types import Money, Positive, Schema
from agents.definitions.spec import Pinned
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.values import Duration, Key, NodeName, PlainSpec, Template, Value
from heartbit_site.base.spec import Spec

#: Kinds of merge of a key of the state.
Merge = Literal["set", "append", "add", "merge", "min", "max"]
MAX_NODES: Final = 1_000
MAX_EDGES: Final = 3_000
MAX_KEYS: Final = 1_000


class StateKeySpec(PlainSpec):
    """A key of a workflow's state."""

    merge: Merge = Field(
        "set",
        description=(
            "Treatment of several writes: set (one writer a superstep), append, add, merge "
            "(of objects), min or max."
        ),
    )
    initial: Value = Field(None, description="Value at the start.")


class LimitsSpec(PlainSpec):
    """Limits of a run of a workflow; each is named when it is reached."""

    supersteps: Positive = Field(1_000, description="Supersteps of one run.")
    activations: Positive = Field(10_000, description="Activations of nodes in one run.")
    items: Positive = Field(10_000, description="Entries of a list that a node handles.")
    state_bytes: Positive = Field(10_000_000, description="Size of the state as JSON.")
    max_parallel: Positive | None = Field(None, description="Concurrent activations of nodes.")
    timeout_seconds: Duration | None = Field(
        None, description="Seconds of work of one run, without waiting."
    )
    max_wall_seconds: Positive | None = Field(
        None,
        description=(
            "Seconds from the acceptance of a run to its end, time spent queued and waiting "
            "included."
        ),
    )
    tokens: Positive | None = Field(None, description="Tokens of one run, children included.")
    cost_usd: Money | None = Field(None, description="Cost of one run, children included.")


def _one_or_more(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _named(given: object) -> object:
    """Turn nodes by name into a list: JSON objects have no order, and the order counts."""
    if not isinstance(given, dict):
        return given
    return [
        {"name": name, **node} if isinstance(node, dict) else node for name, node in given.items()
    ]


Nodes = Annotated[
    list[NodeSpec], Field(min_length=1, max_length=MAX_NODES), BeforeValidator(_named)
]
Edges = Annotated[list[EdgeSpec], Field(max_length=MAX_EDGES)]
Start = Annotated[list[NodeName], Field(max_length=MAX_NODES), BeforeValidator(_one_or_more)]


class GraphSettings(Spec):
    """Settings of a graph; versions pin all of them."""

    nodes: Annotated[Nodes, Pinned()] = Field(
        description="Nodes, in the order in which their results are merged."
    )
    edges: Annotated[Edges, Pinned(late=True)] = Field(default_factory=list)
    start: Annotated[Start, Pinned(late=True)] = Field(
        default_factory=list, description="Nodes that are sent the input."
    )
    state: Annotated[dict[Key, StateKeySpec], Pinned(late=True)] = Field(
        default_factory=dict,
        max_length=MAX_KEYS,
        description="Keys of the state, each with its merge.",
    )
    input: Annotated[Schema | None, Pinned(late=True)] = Field(
        None, description="JSON Schema of the input."
    )
    output: Annotated[Template, Pinned(late=True)] = Field(
        None, description="Output of a run; null: the outputs of the nodes that end it."
    )
    order: Annotated[Literal["barrier", "ready"], Pinned(late=True)] = Field(
        "barrier",
        description=(
            "Start of nodes: barrier (after the previous superstep) or ready (after the nodes "
            "that they need)."
        ),
    )
    failure: Annotated[Literal["fast", "finish"], Pinned(late=True)] = Field(
        "fast", description="After an error: end the run at once, or after active nodes have ended."
    )
    limits: Annotated[LimitsSpec, Pinned(late=True)] = Field(
        default_factory=LimitsSpec, description="Limits of a run."
    )
    pattern: Annotated[str, Field(max_length=64), Pinned(late=True)] = Field(
        "", description="Pattern that the graph was built from, for statistics."
    )


class GraphSpec(PlainSpec, GraphSettings):
    """A graph: everything of a workflow that its versions pin."""


def read_graph(content: Any) -> GraphSpec:
    """Return the graph in a version's snapshot; other parts of the snapshot are left out.

    Raises:
        pydantic.ValidationError: The content is no graph.
    """
    if isinstance(content, Mapping):
        content = {name: content[name] for name in GraphSpec.model_fields if name in content}
    return GraphSpec.model_validate(content)
