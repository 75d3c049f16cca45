"""Limits of one run within one slice."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from agents.journal.events import RunFailed
from agents.llm.errors import BudgetSpentError

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.agent_state import AgentState

#: Message of a run that ends by ``max_wall_seconds``; ``sql/sweep.sql`` has the same.
OVERDUE: Final = "Stopped {} s after it was accepted, waits included (max_wall_seconds)."
MAX_ANSWERS = 4  # attempts at an answer that fits the response schema


def seconds_until_overdue(most: int | None, accepted_at: datetime | None) -> float:
    """Return the time left of ``max_wall_seconds``; infinity without that limit."""
    if most is None or accepted_at is None:
        return math.inf
    return most - (datetime.now(UTC) - accepted_at).total_seconds()


class Limits:
    """Limits of a run; create when the slice begins."""

    def __init__(self, definition: AgentDefinition, state: AgentState) -> None:
        self._definition = definition
        self._state = state
        self._began = time.monotonic()

    def seconds_left(self) -> float:
        """Return the time left of ``timeout_seconds`` or ``max_wall_seconds``, the shorter one.

        Time spent waiting or queued counts for ``max_wall_seconds`` alone.
        """
        used = self._state.worked_seconds + time.monotonic() - self._began
        return min(self._definition.timeout_seconds - used, self._wall_seconds_left())

    def _wall_seconds_left(self) -> float:
        """Return the time left of ``max_wall_seconds``, by the clock on the wall."""
        return seconds_until_overdue(self._definition.max_wall_seconds, self._state.accepted_at)

    def reached(self) -> RunFailed | None:
        """Return the limit that forbids another model call, or None."""
        definition, state = self._definition, self._state
        if state.stopped_by:
            return self._limit(
                "budget", f"Stopped by {state.stopped_by}, whom a budget asked to go on."
            )
        if state.turn - state.steered_turn >= definition.max_turns:
            most = definition.max_turns
            turns = "1 turn" if most == 1 else f"{most} turns"
            return self._limit(
                "max_turns", f"Stopped after {turns} (max_turns of {definition.name})."
            )
        if self.seconds_left() <= 0:
            return self.out_of_time()
        if spent := self._overspent():
            return spent
        if definition.response_schema is not None and state.answers >= MAX_ANSWERS:
            return RunFailed(
                kind="output",
                message=(
                    f"{definition.name} gave no answer that fits its response schema in "
                    f"{MAX_ANSWERS} tries."
                ),
                partial=state.partial,
            )
        return None

    def _overspent(self) -> RunFailed | None:
        definition, state = self._definition, self._state
        limit, used = definition.max_run_tokens, state.used_tokens
        if limit is not None and used >= limit:
            return self._limit(
                "max_run_tokens",
                f"Stopped after {used:,} tokens (max_run_tokens of {definition.name} is "
                f"{limit:,}).",
            )
        most, cost = definition.max_run_cost_usd, state.cost_usd
        if most is not None and cost > 0 and cost >= most:
            return self._limit(
                "max_run_cost_usd",
                f"Stopped after spending {cost:.4f} US dollars (max_run_cost_usd of "
                f"{definition.name} is {most:.4f}).",
            )
        return None

    def out_of_budget(self, error: BudgetSpentError) -> RunFailed:
        """Return the end of a run whose workspace or agent has no budget left for a call."""
        return self._limit("budget", str(error))

    def out_of_time(self) -> RunFailed:
        """Return the end of a run that has exceeded its working time, or its time in all."""
        definition = self._definition
        if self._wall_seconds_left() <= 0:
            return self._limit("max_wall_seconds", OVERDUE.format(definition.max_wall_seconds))
        return self._limit(
            "timeout_seconds",
            f"Stopped after working {definition.timeout_seconds:g} s "
            f"(timeout_seconds of {definition.name}).",
        )

    def _limit(self, limit: str, message: str) -> RunFailed:
        return RunFailed(kind="limit", limit=limit, message=message, partial=self._state.partial)
