"""A limit is reached at its figure, not one beyond it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agents.definitions.definition import AgentDefinition
from agents.loop.agent_state import AgentState
from agents.loop.limits import MAX_ANSWERS, Limits

DEFINITION = AgentDefinition(
    version_id=1,
    agent_id=1,
    name="solo",
    system_prompt="p",
    model="",
    temperature=None,
    tools=(),
    team=(),
    max_turns=10,
    max_tokens=100,
    timeout_seconds=600,
    tool_timeout_seconds=10,
    max_tool_output_bytes=1000,
    max_parallel=3,
    delegation_timeout_seconds=60,
)


@pytest.mark.parametrize(
    ("limit", "state", "reached"),
    [
        ({"max_run_tokens": 100}, {"input_tokens": 60, "output_tokens": 39}, None),
        ({"max_run_tokens": 100}, {"input_tokens": 60, "output_tokens": 40}, "max_run_tokens"),
        ({"max_run_tokens": 100}, {"team_tokens": 100}, "max_run_tokens"),
        ({"max_run_cost_usd": Decimal("0.5")}, {"cost_usd": Decimal("0.49")}, None),
        ({"max_run_cost_usd": Decimal("0.5")}, {"cost_usd": Decimal("0.5")}, "max_run_cost_usd"),
        ({"max_run_cost_usd": Decimal(0)}, {"cost_usd": Decimal(0)}, None),
        ({"max_turns": 3}, {"turn": 2}, None),
        ({"max_turns": 3}, {"turn": 3}, "max_turns"),
        ({"max_turns": 3}, {"turn": 5, "steered_turn": 3}, None),
        ({"max_turns": 3}, {"turn": 6, "steered_turn": 3}, "max_turns"),
        ({"timeout_seconds": 60}, {"worked_seconds": 59.0}, None),
        ({"timeout_seconds": 60}, {"worked_seconds": 60.0}, "timeout_seconds"),
    ],
)
def test_a_limit_holds_from_its_figure_on(
    limit: dict[str, Any], state: dict[str, Any], reached: str | None
) -> None:
    ended = Limits(DEFINITION.model_copy(update=limit), run_state(**state)).reached()
    assert (ended and ended.limit) == reached


@pytest.mark.parametrize(("most", "turns"), [(1, "1 turn"), (2, "2 turns")])
def test_one_turn_is_not_several(most: int, turns: str) -> None:
    strict = DEFINITION.model_copy(update={"max_turns": most})
    ended = Limits(strict, run_state(turn=most)).reached()
    assert ended is not None
    assert f" {turns} (" in ended.message


@pytest.mark.parametrize(("answers", "ends"), [(MAX_ANSWERS - 1, False), (MAX_ANSWERS, True)])
def test_answers_that_fit_no_schema_are_counted(answers: int, *, ends: bool) -> None:
    strict = DEFINITION.model_copy(update={"response_schema": {"type": "object"}})
    assert (Limits(strict, run_state(answers=answers)).reached() is not None) == ends
    assert Limits(DEFINITION, run_state(answers=answers)).reached() is None


def run_state(**fields: Any) -> AgentState:
    state = AgentState()
    for name, value in fields.items():
        setattr(state, name, value)
    return state
