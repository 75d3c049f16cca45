"""Settings of a workflow as a definition of an installation: a graph with a name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from agents.definitions.spec import DefinitionSpec, Description, Pinned, Schema
from agents.workflows.spec.graph import (
    Edges,
    GraphSpec,
    LimitsSpec,
    Nodes,
    Start,
    StateKeySpec,
    read_graph,
)
from agents.workflows.spec.steps import with_graph
from agents.workflows.spec.values import Key, Template


class WorkflowSpec(DefinitionSpec):
    """A workflow: an entry of ``[[workflows]]``, in the form of steps or of nodes and edges."""

    description: Description = Field(
        "", description="Sentence by which an agent chooses the workflow for a task."
    )
    nodes: Annotated[Nodes, Pinned()] = Field(description="Nodes, in the order of their results.")
    edges: Annotated[Edges, Pinned(late=True)] = Field(default_factory=list)
    start: Annotated[Start, Pinned(late=True)] = Field(
        default_factory=list, description="Nodes that are sent the input."
    )
    state: Annotated[dict[Key, StateKeySpec], Pinned(late=True)] = Field(
        default_factory=dict, description="Keys of the state, each with its merge."
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
            "Start of nodes: barrier (when the superstep before has ended) or ready (when what "
            "they need has ended)."
        ),
    )
    failure: Annotated[Literal["fast", "finish"], Pinned(late=True)] = Field(
        "fast", description="After an error: end the run at once, or when what runs has ended."
    )
    limits: Annotated[LimitsSpec, Pinned(late=True)] = Field(
        default_factory=LimitsSpec, description="Limits of a run."
    )
    pattern: Annotated[Annotated[str, Field(max_length=64)], Pinned(late=True)] = Field(
        "", description="Pattern that the graph was built from, for statistics."
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_steps(cls, content: Any) -> Any:
        return with_graph(content)

    @property
    def graph(self) -> GraphSpec:
        """The workflow's graph."""
        return read_graph(self.model_dump(mode="json", include=set(GraphSpec.model_fields)))
