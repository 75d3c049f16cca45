"""Settings of a workflow as a definition of an installation: a graph with a name."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from agents.definitions.spec import CODE_TOOL, DefinitionSpec, Description, ToolGrant
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

    @model_validator(mode="after")
    def _bind_what_it_uses(self) -> Self:
        """Bind the tools of the nodes that the settings do not bind, and name their agents."""
        bound = {grant.name for grant in self.tools}
        used = [node.tool or (CODE_TOOL if node.code else "") for node in self.nodes]
        names = dict.fromkeys(name for name in used if name and name not in bound)
        self.tools.extend(ToolGrant(name=name) for name in names)
        agents = dict.fromkeys(node.agent or node.workflow for node in self.nodes)
        self.team.extend(name for name in agents if name and name not in self.team)
        return self

    @property
    def graph(self) -> GraphSpec:
        """The workflow's graph."""
        return read_graph(self.model_dump(mode="json", include=set(GraphSpec.model_fields)))
