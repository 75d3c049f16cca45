"""Settings of a workflow as a definition of an installation: a graph with a name."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from agents.definitions.spec import DefinitionSpec, Description
from agents.workflows.spec.graph import GraphSettings, GraphSpec, read_graph
from agents.workflows.spec.steps import with_graph


class WorkflowSpec(DefinitionSpec, GraphSettings):
    """A workflow: an entry of ``[[workflows]]``, in the form of steps or of nodes and edges."""

    description: Description = Field(
        "", description="Sentence by which an agent chooses the workflow for a task."
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_steps(cls, content: Any) -> Any:
        return with_graph(content)

    @property
    def graph(self) -> GraphSpec:
        """The workflow's graph."""
        return read_graph(self.model_dump(mode="json", include=set(GraphSpec.model_fields)))
