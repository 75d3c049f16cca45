"""A definition with very many faults is refused in bounded time, and names the first of them."""

from __future__ import annotations

import time

import pytest

from agents.definitions import consistency
from agents.definitions.spec import AgentSpec
from agents.definitions.validation_messages import MOST_COMPLAINTS, check
from heartbit_site.base.schema_references import referenced
from tests.pace import in_time

pytestmark = pytest.mark.paced
MANY = 50_000


def test_unknown_settings_are_named_up_to_a_number() -> None:
    began = time.thread_time()
    found = list(check(AgentSpec, {f"sytem_prompt{number}": 1 for number in range(MANY)}, ()))
    assert len(found) == MOST_COMPLAINTS
    in_time(time.thread_time() - began, 2)


def test_a_long_team_is_read_once() -> None:
    names = {f"agent-{number}": None for number in range(MANY)}
    began = time.thread_time()
    assert not list(consistency.check((), {"team": list(names)}, names, tools=()))
    others = [f"agnet-{number}" for number in range(MANY)]
    few = dict.fromkeys(list(names)[:100])
    assert len(list(consistency.check((), {"team": others}, few, tools=()))) == MOST_COMPLAINTS
    in_time(time.thread_time() - began, 4)


def test_a_huge_number_is_named_without_its_digits() -> None:
    found = dict(check(AgentSpec, {"name": "a", "max_turns": 10**5_000}, ()))
    assert "a number of more than 64 bits" in found["max_turns",]


@pytest.mark.parametrize("step", ["²", "9" * 5_000, "1", "x"])
def test_a_reference_to_no_entry_of_a_list_is_none(step: str) -> None:
    assert referenced(f"#/anyOf/{step}", {"anyOf": [{}]}) is None
