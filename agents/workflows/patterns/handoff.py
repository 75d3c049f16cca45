"""Handoffs: an agent either answers the task or passes it on to another agent.

An agent passes on by a line ``HANDOFF: NAME`` at the end of its text or, if it has a response
schema, by a text property ``handoff``, which is empty or null in a final answer.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from agents.definitions.setting_types import Name
from agents.workflows.patterns import texts
from agents.workflows.patterns.settings import Agents, Content, Count, PatternSpec

_IS_PROPERTY: Final = (
    f'\'"handoff": "\' in {texts.ANSWER} and \'"handoff": ""\' not in {texts.ANSWER}'
)
_IS_LINE: Final = f"'HANDOFF:' in {texts.ANSWER}"
_PROPERTY: Final = f"split(split({texts.ANSWER}, '\"handoff\": \"')[-1], '\"')[0]"
#: The first word after the mark, without the stars and the full stop that models add.
_LINE: Final = (
    f"split(join(split(join(split(split({texts.ANSWER}, 'HANDOFF:')[-1], '*')), '.')) + ' ?')[0]"
)
_PASSES_ON: Final = f"{_IS_PROPERTY} or {_IS_LINE}"
_TARGET: Final = f"{_PROPERTY} if {_IS_PROPERTY} else {_LINE}"


class HandoffSpec(PatternSpec):
    """Settings of ``handoff``; the output is the answer of the agent that passes on no further."""

    agents: Agents = Field(description="Agents; the first one is sent the task.")
    routes: dict[Name, list[Name]] = Field(
        default_factory=dict,
        description="Agents to which each may pass the task on; by default, to all others.",
    )
    max_handoffs: Count = Field(10, description="Handoffs; another one fails the run.")

    def expand(self) -> Content:
        """Return the agents with their routes (see ``PatternSpec``)."""
        names = list(self.agents)
        routed = {*self.routes, *(one for targets in self.routes.values() for one in targets)}
        if unknown := sorted(routed - self.agents.keys()):
            raise ValueError(f'routes names "{unknown[0]}", which is not one of the agents')
        nodes: list[dict[str, Any]] = [
            {"name": name, "agent": name, "task": self._task(name)} for name in names
        ]
        edges: list[dict[str, Any]] = []
        for name in names:
            passed = {**texts.entry(name), "to": f"{{{{ {_TARGET} }}}}"}
            edges += [
                {"from": name, "when": f"not ({_PASSES_ON})", "output": "{{ message }}"},
                {"from": name, "to": texts.TAKE_DOWN, "when": _PASSES_ON, "message": passed},
            ]
            if self._targets(name):
                edges.append(self._route(name))
        nodes.append({"name": texts.TAKE_DOWN, "set": {"transcript": "{{ message }}"}})
        state = {"transcript": texts.TRANSCRIPT}
        return {"nodes": nodes, "edges": edges, "start": names[:1], "state": state}

    def _targets(self, name: str) -> dict[str, str]:
        targets = self.routes.get(name, [one for one in self.agents if one != name])
        return {one: self.agents[one] for one in targets}

    def _route(self, name: str) -> dict[str, Any]:
        """Return the edge from an agent's handoff to those that may take over."""
        when = f"message.speaker == {texts.literal(name)} and {texts.TURNS} <= {self.max_handoffs}"
        targets = list(self._targets(name))
        return {"from": texts.TAKE_DOWN, "to": targets, "when": when, "select": "[message.to]"}

    def _task(self, name: str) -> str:
        parts = ["{{ input }}", f"You are {name}. What was said before:\n\n{texts.said()}"]
        targets = self._targets(name)
        if targets:
            parts.append(
                "Answer the task, or pass it on to another agent: end your answer with a line "
                f"HANDOFF: NAME, or name it in handoff. NAME is one of:\n{texts.roster(targets)}"
            )
        return "\n\n".join(parts)
