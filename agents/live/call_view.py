"""View of a tool call of a run. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from agents.journal.waits import decision
from agents.live.timeline import Parts
from agents.live.words import heading

#: Statuses of a call that runs or is about to run.
OPEN: Final = ("pending", "running")
_LONGEST: Final = 80  # characters of the arguments in a call's name


@dataclass(slots=True)
class CallView:
    """View of one tool call.

    Attributes:
        arguments: Arguments as the model, or the person who started the run, wrote them.
        parent: Id of the call whose script made it; empty: the model made it.
        asked: True while the call waits for a person's decision.
        doubt: True while the call waits for a person to resolve its outcome.
        decision: Value of the wait that a person resolved, with the time.
        children: Ids of the runs that the call waits for.
        progress: Last sentence of the running tool; not journaled.
        grant: Id of the standing permission that allowed the call.
    """

    call_id: str
    tool: str
    arguments: str
    parent: str = ""
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
    progress: str = ""

    @property
    def over(self) -> bool:
        """True once the call has a result."""
        return self.result is not None

    @property
    def decided(self) -> str:
        """Decision and its author, such as `approved by alice`."""
        return decision(self.decision) if self.decision else ""

    @property
    def runs_with(self) -> str:
        """Arguments of the execution: the person's if they edited them, else the model's."""
        return str((self.decision or {}).get("arguments") or self.arguments)

    @property
    def agents(self) -> list[str]:
        """Names of the agents that the call delegates to or asks, in the order of their runs."""
        arguments = self._named_arguments()
        tasks = arguments.get("tasks")
        if self.tool == "delegate_task" and isinstance(tasks, list):
            return [str(task.get("agent")) for task in tasks if isinstance(task, dict)]
        return [str(arguments["to"])] if self.tool == "ask_agent" and "to" in arguments else []

    @property
    def brief_arguments(self) -> str:
        """Short form of the arguments: the agents of a delegation, else compact JSON."""
        arguments = self._named_arguments()
        if self.tool == "delegate_task" and isinstance(arguments.get("tasks"), list):
            return ", ".join(self.agents)
        if arguments:
            return json.dumps(arguments, ensure_ascii=False)
        return "" if self.runs_with in ("", "{}") else self.runs_with

    @property
    def name(self) -> str:
        """Tool name with truncated arguments."""
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
        """Return the executed arguments; empty if the model wrote no JSON object."""
        try:
            arguments = json.loads(self.runs_with or "{}")
        except ValueError:
            return {}
        return arguments if isinstance(arguments, dict) else {}
