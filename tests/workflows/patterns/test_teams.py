"""Handoffs, a manager with its team, and squads: their ends, their cycles and their limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.workflows.builder.patterns import handoff, magentic, squad
from agents.workflows.patterns.magentic import ledger_schema
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import validate
from tests.workflows.patterns.players import Cast, from_toml, speakers

DESK = ["triage", "billing", "repair"]


@pytest.mark.parametrize(
    "answer",
    [
        "Money.\nHANDOFF: billing",
        "**HANDOFF: billing**.",
        "HANDOFF: **billing**",
        "Not HANDOFF: repair, but HANDOFF: billing.",
        {"handoff": "billing", "reason": "HANDOFF: repair"},
        '{"handoff": "billing"}',
    ],
)
def test_a_task_is_passed_on(answer: Any) -> None:
    cast = Cast(handoff("desk", DESK), triage=[answer], billing=[{"handoff": "", "paid": True}])
    played = cast.play("Pay.")
    assert (played.output, speakers(played)) == ({"handoff": "", "paid": True}, ["triage"])
    assert "triage: " in cast.tasks["billing"][0]


@pytest.mark.parametrize("answer", ["Done.", "", None, {"handoff": None}, {"handoff": ""}])
def test_an_answer_without_a_handoff_is_the_output(answer: Any) -> None:
    assert Cast(handoff("desk", DESK), triage=[answer]).play().output == answer


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("HANDOFF: sales", "'sales' is chosen, which is no target; targets are billing"),
        ("HANDOFF:", "'?' is chosen"),
        ({"handoff": "repair"}, "'repair' is chosen"),
    ],
)
def test_only_the_routes_of_an_agent_are_taken(answer: Any, sentence: str) -> None:
    desk = handoff("desk", DESK, routes={"triage": ["billing"], "billing": ["repair", "triage"]})
    assert sentence in Cast(desk, triage=[answer]).play().failure.message


def test_agents_that_pass_a_task_back_and_forth_reach_the_limit() -> None:
    desk = handoff("desk", ["a", "b"], max_handoffs=5)
    played = Cast(desk, a=["HANDOFF: b"], b=["HANDOFF: a"]).play()
    assert len(speakers(played)) == 5
    assert "len(state.transcript) <= 5" in played.failure.message


def test_routes_name_agents_and_reach_all_of_them() -> None:
    with pytest.raises(ConfigurationError, match=r'handoff.routes names "sales", which is not'):
        handoff("desk", DESK, routes={"triage": ["sales"]})
    with pytest.raises(ConfigurationError, match='No path leads from the start to the node "repa'):
        handoff("desk", DESK, routes={"triage": ["billing"], "billing": []}).check()


TEAM = {"coder": "writes", "tester": "tests"}


def report(**fields: Any) -> dict[str, Any]:
    plain = {"facts": "F", "plan": "P", "done": False, "progressing": True, "answer": ""}
    made = {**plain, "next": "coder", "instruction": "Write.", **fields}
    assert not validate(ledger_schema(TEAM), made)
    return made


def test_a_manager_delegates_until_the_task_is_done() -> None:
    steps = [report(), report(), report(next="tester", instruction="Test."), report()]
    cast = Cast(magentic("team", "boss", TEAM), boss=[*steps, report(done=True, answer="42")])
    played = cast.play("Solve.")
    assert (played.output, speakers(played)) == ("42", ["coder", "tester", "coder"])
    assert cast.tasks["tester"][0].startswith("Test.\n\nYour last answer")
    assert cast.tasks["coder"][1].endswith("coder: coder answers\n\ntester: tester answers")
    assert '{"facts": "F", "plan": "P"}' in cast.tasks["boss"][1]
    assert "- coder: writes" in cast.tasks["boss"][0]


def test_a_stall_leads_to_another_plan_and_then_to_a_failure_that_is_named() -> None:
    team = magentic("team", "boss", TEAM, max_stalls=2, max_replans=1)
    cast = Cast(team, boss=[report(progressing=False)])
    played = cast.play()
    assert (len(speakers(played)), played.state.values["plans"]) == (2, 2)
    again = [task for task in cast.tasks["boss"] if "has made no progress" in task]
    assert len(again) == 1
    for condition in ("state.stalls >= 2 and state.plans <= 1", '"message.done" is false'):
        assert condition in played.failure.message


def test_progress_ends_a_stall_and_rounds_are_limited() -> None:
    reports = [report(progressing=number % 2 == 0) for number in range(30)]
    team = magentic("team", "boss", TEAM, max_stalls=2, max_rounds=7)
    played = Cast(team, boss=reports).play()
    assert (len(speakers(played)), played.state.values["plans"]) == (7, 1)
    assert "len(state.transcript) < 7" in played.failure.message


def test_an_unknown_agent_named_by_the_manager_fails_the_run() -> None:
    unknown = {**report(), "next": "bob"}
    played = Cast(magentic("team", "boss", TEAM), boss=[unknown]).play()
    assert "'bob' is chosen, which is no target" in played.failure.message


def test_a_squad_works_in_rounds_on_its_own_board() -> None:
    cast = Cast(
        squad("squad", ["a", "b"], lead="a", rounds=2), a=["one", "two", "end"], b=["", "x"]
    )
    assert cast.play("Think.").output == "end"
    boards = [json.loads(task.split("\n\n")[3]) for task in cast.tasks["b"]]
    assert boards == [{}, {"a": "one", "b": ""}]
    assert cast.tasks["a"][2].endswith('{"a": "two", "b": "x"}')
    alone = Cast(from_toml('name = "s"\nsquad = { agents = ["a"], rounds = 1 }'))
    assert alone.play().output == {"a": "a answers"}
