"""A manager that plans, delegates one instruction at a time, and plans again after a stall.

The manager is one agent, whose response schema is ``ledger_schema``: it writes the task ledger
(facts and plan) when it plans, and the progress ledger after each answer of its team.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import Field

from agents.definitions.setting_types import Name
from agents.workflows.patterns import texts
from agents.workflows.patterns.settings import Agents, Content, Count, PatternSpec

_NOTE_PLAN: Final = "note plan"
_NOTE_PROGRESS: Final = "note progress"
_TEXTS: Final = ("facts", "plan", "instruction", "answer")
_AGAIN: Final = (
    "{{ 'This plan has made no progress, so correct it:\\n\\n' + str(state.ledger) + '\\n\\n' "
    "if state.plans else '' }}"
)
_REPORT: Final = (
    "{{ state.ledger }}\n\ndone: is the task done? progressing: does the team make progress, "
    "without repeating itself? next: who acts next. instruction: all that this agent has to know "
    "and do. answer: if the task is done, its result."
)


def ledger_schema(agents: Iterable[str]) -> dict[str, Any]:
    """Return the JSON Schema of a manager's answers.

    Args:
        agents: Names of its team.
    """
    fields: dict[str, Any] = {name: {"type": "string"} for name in _TEXTS}
    fields |= {name: {"type": "boolean"} for name in ("done", "progressing")}
    fields["next"] = {"type": "string", "enum": list(agents)}
    return {"type": "object", "properties": fields, "required": list(fields)}


class MagenticSpec(PatternSpec):
    """Settings of ``magentic``; the output is the manager's ``answer`` once the task is done.

    A run that is neither done nor may continue fails, and names the limit.
    """

    manager: Name = Field(description="Agent that plans and delegates; see ``ledger_schema``.")
    agents: Agents = Field(description="Team of the manager.")
    max_rounds: Count = Field(20, description="Instructions in one run.")
    max_stalls: Count = Field(
        3, description="Reports in a row without progress; then it plans again."
    )
    max_replans: Annotated[int, Field(ge=0, le=500)] = Field(2, description="Further plans.")

    def expand(self) -> Content:
        """Return the graph of the manager and its team (see ``PatternSpec``)."""
        plans, reports = f"{self.manager} plans", f"{self.manager} reports"
        manager = {"agent": self.manager, "output": ledger_schema(self.agents), "retry": 1}
        ledger = {"facts": "{{ message.facts }}", "plan": "{{ message.plan }}"}
        stalls = "{{ 0 if message.progressing else state.stalls + 1 }}"
        nodes: list[dict[str, Any]] = [
            {"name": plans, **manager, "task": self._task(f"{_AGAIN}Write facts and a plan.")},
            {"name": _NOTE_PLAN, "set": {"ledger": ledger, "plans": 1, "stalls": 0}},
            {"name": reports, **manager, "task": self._task(_REPORT)},
            {"name": _NOTE_PROGRESS, "set": {"stalls": stalls}},
            *({"name": one, "agent": one, "task": _work(one)} for one in self.agents),
            {"name": texts.TAKE_DOWN, "set": {"transcript": "{{ message }}"}},
        ]
        edges: list[dict[str, Any]] = [
            {"from": plans, "to": _NOTE_PLAN},
            {"from": _NOTE_PLAN, "to": reports},
            {"from": reports, "to": _NOTE_PROGRESS},
            *self._decisions(plans),
            *texts.take_down(self.agents),
            {"from": texts.TAKE_DOWN, "to": reports},
        ]
        state = {
            "transcript": texts.TRANSCRIPT,
            "ledger": {"merge": "set"},
            "stalls": {"merge": "set", "initial": 0},
            "plans": {"merge": "add", "initial": 0},
        }
        return {"nodes": nodes, "edges": edges, "start": [plans], "state": state}

    def _decisions(self, plans: str) -> list[dict[str, Any]]:
        """Return the edges after a report: to the end, to another plan, or to an agent."""
        stalled = f"state.stalls >= {self.max_stalls}"
        again = f"not message.done and {stalled} and state.plans <= {self.max_replans}"
        works = f"not message.done and not {stalled} and {texts.TURNS} < {self.max_rounds}"
        team = {"to": list(self.agents), "select": "[message.next]", "when": works}
        return [
            {"from": _NOTE_PROGRESS, "when": "message.done", "output": "{{ message.answer }}"},
            {"from": _NOTE_PROGRESS, "to": plans, "when": again},
            {"from": _NOTE_PROGRESS, **team, "message": "{{ message.instruction }}"},
        ]

    def _task(self, request: str) -> str:
        return texts.overview("You manage a team.", self.agents, request)


def _work(name: str) -> str:
    since = "Your last answer, if any, and what others answered since:"
    return f"{{{{ message }}}}\n\n{since}\n\n{texts.said_since(name)}"
