"""Agents side by side on one task, and perhaps one that reads all their answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agents.definitions.setting_types import Name
from agents.workflows.patterns.settings import Agents, Content, PatternSpec
from agents.workflows.patterns.texts import literal

_GATHER = "gather answers"


class ConcurrentSpec(PatternSpec):
    """Settings of ``concurrent``.

    The output is an object of the answers by name of the agent, or the answer of ``then``.
    """

    agents: Agents = Field(description="Agents that are sent the task at the same time.")
    then: Name | None = Field(None, description="Agent that is sent the task and all answers.")
    on_error: Literal["fail", "continue"] = Field(
        "fail", description="After an agent's error: fail, or continue with null as its answer."
    )

    def expand(self) -> Content:
        """Return a fan-in of the agents (see ``PatternSpec``)."""
        names = list(self.agents)
        nodes: list[dict[str, Any]] = [
            {"name": name, "agent": name, "task": "{{ input }}", "on_error": self.on_error}
            for name in names
        ]
        nodes.append({"name": _GATHER, "set": {}})
        edges: list[dict[str, Any]] = [{"from": names, "to": _GATHER}]
        if self.then is not None:
            last = f"{self.then} sums up"
            nodes.append({"name": last, "agent": self.then, "task": _summary(names)})
            edges.append({"from": _GATHER, "to": last})
        return {"nodes": nodes, "edges": edges, "start": names, "state": {}}


def _summary(names: list[str]) -> str:
    answers = [
        f"The answer of {name}:\n\n{{{{ message[{literal(name)}] or '(no answer)' }}}}"
        for name in names
    ]
    return "\n\n".join(["{{ input }}", *answers])
