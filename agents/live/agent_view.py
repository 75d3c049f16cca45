"""Views of runs whose engine calls a model, and of runs that are one tool call. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from agents.journal import events
from agents.journal.folding import folds
from agents.journal.waits import TIMER
from agents.live.view import RunView
from agents.runs.live_entries import DeltaKind


@dataclass(slots=True)
class AgentView(RunView):
    """View of a run with turns of a model."""

    NOTES = (
        *RunView.NOTES,
        events.ModelInterrupted,
        events.ModelDelayed,
        events.ContextSummarized,
        events.MemoriesRecalled,
        events.MemoriesExtracted,
    )
    REMARKS = (*RunView.REMARKS, events.ModelInterrupted, events.ContextSummarized)
    TITLES = (*RunView.TITLES, events.ContextSummarized)

    def at_work(self, writing: DeltaKind | None) -> str:
        """Return what the run is doing while it runs no call (see ``RunView``)."""
        if writing:
            return "thinks" if writing == "thinking" else "writes"
        return "asks the model"

    @property
    def _lane(self) -> str:
        return "tool" if self.open_calls else "model"

    @folds(events.ModelAnswered)
    def _model_answered(self, event: events.ModelAnswered) -> None:
        self.turn, message, self.lost = event.turn, event.message, ""
        self._times.close("queue", self._at)
        if not self.waits:
            self.status = "running"
        self._spend(event)
        thoughts = [_thought(one.block) for one in message.thinking]
        # Streamed thinking that is not journaled stays on the pages that received it.
        thinking = {"thinking": "\n\n".join(filter(None, thoughts))} if any(thoughts) else {}
        turn = self._turn(event.turn, message.tool_calls) | {
            "text": message.text,
            "kept": bool(thinking),
            **thinking,
            "input": event.usage.input_tokens,
            "output": event.usage.output_tokens,
            "cost": event.cost_usd,
            "ms": event.duration_ms,
            "model": event.model,
            "finish": event.finish_reason,
        }
        self._keep(f"turn {event.turn}", turn)
        self._times.add("model", self.created_at, self._at, event.duration_ms, turn=event.turn)

    @folds(events.ModelDelayed)
    def _model_delayed(self, event: events.ModelDelayed) -> None:
        self.pause = event.reason, self._at + timedelta(seconds=event.delay_seconds)
        self._wait(event.key, TIMER, reason=event.reason)

    @folds(events.ModelInterrupted)
    def _model_interrupted(self, event: events.ModelInterrupted) -> None:
        self._spend(event)
        self._times.add("model", self.created_at, self._at, event.duration_ms, name="cut off")

    @folds(events.ContextSummarized)
    def _context_summarized(self, event: events.ContextSummarized) -> None:
        self._spend(event)
        self._times.add("model", self.created_at, self._at, event.duration_ms, name="summary")

    def _spend(
        self, event: events.ModelAnswered | events.ModelInterrupted | events.ContextSummarized
    ) -> None:
        self.input_tokens += event.usage.input_tokens
        self.output_tokens += event.usage.output_tokens
        self.cached_tokens += event.usage.cached_input_tokens
        if event.cost_usd is None:
            self.priced = False
        else:
            self.cost += Decimal(event.cost_usd)
        self._changed["run"] = None


def _thought(block: dict[str, Any]) -> str:
    """Return the readable text of a provider's thinking block."""
    summary = block.get("summary")
    if isinstance(summary, list):
        return "\n\n".join(str(part.get("text", "")) for part in summary)
    names = ("thinking", "text", "reasoning", "reasoning_content", "content")
    texts = (block.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str)), "")


@dataclass(slots=True)
class ToolCallView(RunView):
    """View of a run whose only turn is a call without a model."""

    @folds(events.RunCreated)
    def _show_call(self, created: events.RunCreated) -> None:
        if created.call is not None:
            self._keep("turn 0", self._turn(0, (created.call,)))
