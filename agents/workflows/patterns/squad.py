"""A squad: agents that work side by side in rounds, and share a board of their own.

A squad is a workflow, so another workflow runs one as a node (``workflow = "NAME"``), and its board
is the state of that run alone.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from agents.definitions.setting_types import Name
from agents.workflows.patterns.settings import Agents, Content, Count, PatternSpec
from agents.workflows.patterns.texts import literal, roster

_WRITE: Final = "write board"
_ROUNDS: Final = f"steps[{literal(_WRITE)}].visits"


class SquadSpec(PatternSpec):
    """Settings of ``squad``; the output is the board, or the answer of the lead."""

    agents: Agents = Field(description="Members.")
    lead: Name | None = Field(None, description="Agent that is sent the task and the last board.")
    rounds: Count = Field(2, description="Rounds of work.")

    def expand(self) -> Content:
        """Return the rounds of the squad (see ``PatternSpec``)."""
        names = list(self.agents)
        board = "The board, with the last answer of each:\n\n{{ state.board }}"
        task = f"{{{{ input }}}}\n\nYour squad:\n{roster(self.agents)}\n\n{board}"
        nodes: list[dict[str, Any]] = [
            {"name": name, "agent": name, "task": f"{task}\n\nYou are {name}."} for name in names
        ]
        nodes.append({"name": _WRITE, "set": {"board": "{{ message }}"}})
        is_last = f"{_ROUNDS} >= {self.rounds}"
        edges: list[dict[str, Any]] = [{"from": names, "to": _WRITE}]
        if self.rounds > 1:
            edges.append({"from": _WRITE, "to": names, "when": f"not ({is_last})"})
        if self.lead is None:
            edges.append({"from": _WRITE, "when": is_last, "output": "{{ state.board }}"})
        else:
            last = f"{self.lead} sums up"
            nodes.append({"name": last, "agent": self.lead, "task": f"{{{{ input }}}}\n\n{board}"})
            edges.append({"from": _WRITE, "to": last, "when": is_last})
        state = {"board": {"merge": "merge", "initial": {}}}
        return {"nodes": nodes, "edges": edges, "start": names, "state": state}
