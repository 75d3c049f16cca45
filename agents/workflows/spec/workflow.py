"""Settings of a workflow as a definition of an installation: a graph with a name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from pydantic import Field, model_validator

from agents.definitions.setting_types import Description
from agents.definitions.spec import CODE_TOOL, DefinitionSpec, ToolGrant
from agents.workflows.spec.graph import MAX_NODES, GraphSettings, GraphSpec
from agents.workflows.spec.steps import with_graph, written_at


class WorkflowSpec(DefinitionSpec, GraphSettings):
    """A workflow: an entry of ``[[workflows]]``, in the form of steps or of nodes and edges."""

    description: Description = Field(
        "", description="Sentence by which an agent chooses the workflow for a task."
    )

    @classmethod
    def written_at(cls, content: Any, place: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return where the settings have a place (see ``validation_messages.check``)."""
        return written_at(content, place)

    @model_validator(mode="before")
    @classmethod
    def _accept_steps(cls, content: Any) -> Any:
        return with_graph(content)

    @model_validator(mode="after")
    def _bind_what_it_uses(self) -> Self:
        """Bind the tools of the nodes that the settings do not bind, and name their agents."""
        used = [node.tool or (CODE_TOOL if node.code else None) for node in self.nodes]
        tools = _missing(used, {grant.name for grant in self.tools})
        self.tools.extend(ToolGrant(name=name) for name in tools)
        self.team.extend(_missing([node.agent or node.workflow for node in self.nodes], self.team))
        for name, entries in (("tools", self.tools), ("team", self.team)):
            if len(entries) > MAX_NODES:
                raise ValueError(
                    f"has {len(entries):,} entries in {name}, with those of its nodes; at most "
                    f"{MAX_NODES:,} are accepted"
                )
        return self

    @property
    def graph(self) -> GraphSpec:
        """The workflow's graph."""
        settings = {name: getattr(self, name) for name in GraphSpec.model_fields}
        return GraphSpec.model_construct(**settings)


def _missing(used: Iterable[str | None], known: Iterable[str]) -> list[str]:
    """Return the names that are used and not known, each once."""
    seen = set(known)
    return [name for name in dict.fromkeys(used) if name and name not in seen]
