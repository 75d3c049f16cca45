"""Agents one after another, each with the answer of the one before it."""

from __future__ import annotations

from itertools import pairwise

from pydantic import Field

from agents.workflows.patterns.settings import Agents, Content, PatternSpec


class SequentialSpec(PatternSpec):
    """Settings of ``sequential``: each agent is sent the task and the answer before its own."""

    agents: Agents = Field(description="Agents, in their order.")

    def expand(self) -> Content:
        """Return a chain of the agents (see ``PatternSpec``)."""
        names = list(self.agents)
        nodes = [{"name": names[0], "agent": names[0], "task": "{{ input }}"}]
        for before, name in pairwise(names):
            task = f"{{{{ input }}}}\n\nThe answer of {before}:\n\n{{{{ message }}}}"
            nodes.append({"name": name, "agent": name, "task": task})
        edges = [{"from": one, "to": other} for one, other in pairwise(names)]
        return {"nodes": nodes, "edges": edges, "start": names[:1], "state": {}}
