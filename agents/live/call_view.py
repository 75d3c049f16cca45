"""A tool call of a run as people see it. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agents.journal.waits import decision
from agents.live.activity import heading

if TYPE_CHECKING:
    from agents.live.timeline import Parts

#: The states of a call that runs, or is about to.
OPEN: Final = ("pending", "running")
_LONGEST: Final = 80  # characters of a call's arguments, in its name


@dataclass(slots=True)
class CallView:
    """One tool call.

    Attributes:
        arguments: What the model wrote, or who started the call's run.
        reason: Why a person is asked about it.
        asked: True while it waits for a person's decision.
        doubt: True while it waits for a person's word on its outcome.
        decision: What a person decided, as the wait's value has it, and when.
        children: The runs that it waits for.
        grant: The standing permission by which it ran.
    """

    call_id: str
    tool: str
    arguments: str
    status: str = "pending"
    effect: str = ""
    reason: str = ""
    asked: bool = False
    doubt: bool = False
    decision: dict[str, Any] | None = None
    children: list[str] = field(default_factory=list)
    result: str | None = None
    duration_ms: int = 0
    grant: int | None = None

    @property
    def over(self) -> bool:
        """True once it has a result."""
        return self.result is not None

    @property
    def decided(self) -> str:
        """The decision and its author, such as `approved by alice`."""
        return decision(self.decision) if self.decision else ""

    @property
    def runs_with(self) -> str:
        """The arguments that it runs with: what a person wrote, or the model."""
        return str((self.decision or {}).get("arguments") or self.arguments)

    @property
    def agents(self) -> list[str]:
        """The agents that it asks to work, in the order of their runs."""
        arguments = self._named_arguments()
        tasks = arguments.get("tasks")
        if self.tool == "delegate_task" and isinstance(tasks, list):
            return [str(task.get("agent")) for task in tasks if isinstance(task, dict)]
        return [str(arguments["to"])] if self.tool == "ask_agent" and "to" in arguments else []

    @property
    def brief_arguments(self) -> str:
        """Its arguments as a person wants them: the agents of a delegation, else compact JSON."""
        arguments = self._named_arguments()
        if self.tool == "delegate_task" and isinstance(arguments.get("tasks"), list):
            return ", ".join(self.agents)
        if arguments:
            return json.dumps(arguments, ensure_ascii=False)
        return "" if self.runs_with in ("", "{}") else self.runs_with

    @property
    def name(self) -> str:
        """Its tool with its arguments, briefly."""
        arguments = " ".join(self.brief_arguments.split())
        if len(arguments) > _LONGEST:
            arguments = f"{arguments[: _LONGEST - 1].rstrip()}…"
        return f"{self.tool} {arguments}" if arguments else self.tool

    def part(self) -> Parts:
        """Return the call as a part of its run's view."""
        part, decided = asdict(self), self.decided
        part["decided"] = heading(decided)
        return {"id": part.pop("call_id"), "turn": int(self.call_id.partition(".")[0]), **part}

    def _named_arguments(self) -> dict[str, Any]:
        """Return the arguments that it runs with; none if a model wrote no JSON object."""
        try:
            arguments = json.loads(self.runs_with or "{}")
        except ValueError:
            return {}
        return arguments if isinstance(arguments, dict) else {}
