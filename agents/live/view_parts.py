"""Parts of the view of a run: its timeline, its streamed text and its tool calls. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from agents.journal.waits import decision
from agents.live.words import heading
from agents.runs.live_entries import Delta, DeltaKind
from heartbit_site.base.growing_markdown import GrowingMarkdown
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

Parts = dict[str, Any]


@dataclass(slots=True)
class Timeline:
    """Spans of a run, each a part of the run's view.

    Attributes:
        changed: Spans that the last event changed; None: removed.
    """

    parts: dict[str, Parts] = field(default_factory=dict)
    changed: dict[str, Parts | None] = field(default_factory=dict)
    _count: int = 0
    _open: dict[str, str] = field(default_factory=dict)

    def open(self, key: str, kind: str, at: datetime, **more: Any) -> None:
        """Begin a span with an open end."""
        self.close(key, at)
        name = self._open[key] = self._next_name()
        self._keep(name, {"kind": kind, "from": to_ms(at), "to": None, **more})

    def close(self, key: str, at: datetime) -> None:
        """End the span that is open under a key, if any."""
        name = self._open.pop(key, None)
        if name is not None:
            part = self.parts[name]
            self._keep(name, {**part, "to": max(part["from"], to_ms(at))})

    def close_all(self, at: datetime) -> None:
        """End every open span."""
        for key in list(self._open):
            self.close(key, at)

    def add(
        self, kind: str, since: datetime | None, until: datetime, ms: float, **more: Any
    ) -> None:
        """Add a span of ``ms`` that ends at ``until`` and begins no earlier than ``since``."""
        end = to_ms(until)
        begin = max(to_ms(since) if since else 0, end - round(ms))
        self._keep(self._next_name(), {"kind": kind, "from": begin, "to": end, **more})

    def clear(self) -> None:
        """Remove all spans."""
        self.changed.update(dict.fromkeys(self.parts))
        self.parts.clear()
        self._open.clear()

    def _keep(self, name: str, part: Parts) -> None:
        self.parts[name] = self.changed[name] = part

    def _next_name(self) -> str:
        self._count += 1
        return f"time {self._count}"


def to_ms(at: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return round(at.timestamp() * 1000)


@dataclass(slots=True)
class Writing:
    """Streamed text of a model call.

    Attributes:
        next: Expected offset of the next piece.
        gap: True if a piece was lost.
        blocks: The text as HTML, for pages.
    """

    turn: int = 0
    attempt: int = 0
    next: int = 0
    kind: DeltaKind = "text"
    text: str = ""
    thinking: str = ""
    gap: bool = False
    blocks: GrowingMarkdown = field(default_factory=GrowingMarkdown, compare=False)

    def add(self, delta: Delta) -> Parts | None:
        """Append a piece; return the change, or None if it is known or of an earlier attempt."""
        place = (delta.turn, delta.attempt)
        if place < (self.turn, self.attempt):
            return None
        fresh = place != (self.turn, self.attempt)
        known = 0 if fresh else self.next
        piece = delta.text[max(0, known - delta.offset) :]
        if not piece:
            return None
        if fresh:
            self.turn, self.attempt = place
            self.text, self.thinking, self.gap = "", "", False
            self.blocks = GrowingMarkdown()
        if delta.offset > known:
            self.gap, piece = True, f"…{piece}"
        self.kind, self.next = delta.kind, delta.offset + len(delta.text)
        before = self.thinking if delta.kind == "thinking" else self.text
        if delta.kind == "thinking":
            self.thinking += piece
        else:
            self.text += piece
        at = len(before) + sum(character > "\uffff" for character in before)
        return {"kind": delta.kind, "at": at, "text": piece, "fresh": fresh, "gap": self.gap}


#: Statuses of a call that runs or is about to run.
OPEN: Final = ("pending", "running")
_LONGEST: Final = 80  # characters of the arguments in a call's name


@dataclass(slots=True)
class CallView:
    """View of one tool call.

    Attributes:
        arguments: Arguments as the model, or the person who started the run, wrote them.
        parent: Id of the call whose script made it; empty if the model made it.
        asked: True while the call waits for a person's decision.
        doubt: True while the call waits for a person to resolve its outcome.
        decision: Value of the wait that a person resolved, with the time.
        children: Ids of the runs that the call waits for.
        images: Addresses of the pictures that the tool returned.
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
    images: list[str] = field(default_factory=list)
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
        """Names of the agents that the call runs or asks, in the order of their runs."""
        arguments = self._named_arguments()
        tasks = arguments.get("tasks")
        if self.tool == "delegate_task" and isinstance(tasks, list):
            return [str(task.get("agent")) for task in tasks if isinstance(task, dict)]
        if self.tool.startswith("workflow-"):
            return [self.tool.removeprefix("workflow-")]
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
            arguments = parse_untrusted_json(self.runs_with or "{}")
        except UntrustedJSONError:
            return {}
        return arguments if isinstance(arguments, dict) else {}
