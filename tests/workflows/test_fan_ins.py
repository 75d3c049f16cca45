"""Fan-ins: each fires when every source has delivered, or no longer can (conformance case 4)."""

from __future__ import annotations

from typing import Any

import pytest

from agents.workflows.records import Sent, Write
from tests.workflows.driver import Driver, functions, play, result

DIAMOND: dict[str, Any] = {
    "nodes": functions("a", "b", "c", "d"),
    "start": "a",
    "edges": [
        {"from": "a", "to": "b", "when": "'b' in message"},
        {"from": "a", "to": "c", "when": "'c' in message"},
        {"from": ["b", "c"], "to": "d"},
    ],
}


def test_a_fan_in_waits_for_all_its_sources() -> None:
    played = play(DIAMOND, input="bc")
    assert played.output == {"b": "bc", "c": "bc"}
    assert played.runs_of("d") == 1


def test_a_skipped_branch_is_null() -> None:
    assert play(DIAMOND, input="c").output == {"b": None, "c": "c"}


def test_a_fan_in_without_any_message_does_not_fire() -> None:
    edges = [*DIAMOND["edges"], {"from": "a", "when": "True", "output": "none"}]
    played = play({**DIAMOND, "edges": edges}, input="")
    assert played.output == "none"
    assert played.runs_of("d") == 0


def test_a_longer_branch_is_waited_for() -> None:
    graph = {
        "nodes": functions("a", "b", "c1", "c2", "c3", "d"),
        "start": "a",
        "edges": [
            {"from": "a", "to": ["b", "c1"]},
            {"from": "c1", "to": "c2"},
            {"from": "c2", "to": "c3"},
            {"from": ["b", "c3"], "to": "d"},
        ],
    }
    played = play(graph, input=1)
    assert played.output == {"b": 1, "c3": 1}
    assert played.runs_of("d") == 1


def test_a_fan_in_behind_another_one_waits_for_it() -> None:
    graph = {
        "nodes": functions("a", "b", "slow1", "slow2", "inner", "outer", "c"),
        "start": ["a", "b", "c", "slow1"],
        "edges": [
            {"from": "slow1", "to": "slow2"},
            {"from": ["inner", "c"], "to": "outer"},
            {"from": ["a", "b", "slow2"], "to": "inner"},
        ],
    }
    played = play(graph, input=1)
    assert played.output == {"inner": {"a": 1, "b": 1, "slow2": 1}, "c": 1}


def test_a_fan_in_in_a_loop_fires_in_each_round() -> None:
    graph = {
        "nodes": functions("split", "b", "c", "join"),
        "start": "split",
        "state": {"n": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "split", "to": ["b", "c"]},
            {"from": ["b", "c"], "to": "join"},
            {"from": "join", "to": "split", "when": "state.n < 2", "message": "again"},
            {"from": "join", "when": "state.n >= 2", "output": "{{ message }}"},
        ],
    }
    played = play(graph, {"join": lambda g: result(g.message, writes=(Write("n", "add", 1),))})
    assert played.output == {"b": "again", "c": "again"}
    assert played.runs_of("join") == 2


def test_a_loop_back_into_one_arm_of_a_diamond() -> None:
    """Conformance case 6."""
    graph = {
        "nodes": functions("a", "b", "c", "b_done", "d"),
        "start": "a",
        "state": {"n": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "a", "to": ["b", "c"]},
            {"from": "b", "cases": [{"when": "state.n < 3", "to": "b"}], "default": "b_done"},
            {"from": ["b_done", "c"], "to": "d"},
        ],
    }
    played = play(graph, {"b": lambda g: result("b", writes=(Write("n", "add", 1),))}, input="x")
    assert played.output == {"b_done": "b", "c": "x"}
    assert (played.runs_of("b"), played.runs_of("d")) == (3, 1)


def test_a_source_that_delivers_twice_is_buffered() -> None:
    graph = {
        "nodes": functions("a", "b", "d"),
        "start": ["a", "b"],
        "edges": [{"from": ["a", "b"], "to": "d"}],
    }
    twice = {"a": lambda given: result(sends=(Sent(1), Sent(2)))}
    played = play(graph, twice, input="b")
    assert played.output == [{"a": 1, "b": "b"}, {"a": 2, "b": None}]
    assert played.state.buffers == {}


def test_fan_ins_that_wait_for_each_other_fire_in_their_order() -> None:
    graph = {
        "nodes": functions("a", "x", "y"),
        "start": "a",
        "edges": [
            {"from": ["a", "y"], "to": "x"},
            {"from": ["a", "x"], "to": "y", "when": "message.a"},
            {"from": "y", "when": "True", "output": "done"},
        ],
    }
    played = play(graph, input=1)
    assert next(one.edge for commit in played.commits for one in commit.fired) == 0


@pytest.mark.parametrize(("wait", "expected"), [("any", 1), (1, {"b": 1}), (2, {"b": 1, "c": 1})])
def test_a_fan_in_may_wait_for_some(wait: Any, expected: Any) -> None:
    graph = {
        "nodes": functions("a", "b", "c", "slow", "slower", "d"),
        "start": "a",
        "edges": [
            {"from": "a", "to": ["b", "c", "slow"]},
            {"from": "slow", "to": "slower"},
            {"from": ["b", "c", "slower"], "to": "d", "wait": wait},
        ],
    }
    played = play(graph, input=1)
    assert played.output == expected
    assert (played.runs_of("d"), played.runs_of("slower")) == (1, 0)


def test_any_cancels_the_question_of_another_branch() -> None:
    graph = {
        "nodes": functions("a", "b", "d") | {"q": {"ask": "?"}},
        "start": "a",
        "edges": [{"from": "a", "to": ["b", "q"]}, {"from": ["b", "q"], "to": "d", "wait": "any"}],
    }
    driver = Driver(graph, input=1)
    played = driver.play()
    assert played.output == 1
    assert played.commits[2].cancelled == ("1.1",)
    assert driver.waiting() == []


def test_an_open_question_keeps_a_fan_in_waiting() -> None:
    graph = {
        "nodes": functions("a", "b", "after", "d") | {"q": {"ask": "?"}},
        "start": ["b", "q"],
        "edges": [{"from": "q", "to": "after"}, {"from": ["b", "after"], "to": "d"}],
    }
    driver = Driver(graph, input=1)
    assert driver.play().ending is None
    assert driver.answer("q", "yes").output == {"b": 1, "after": "yes"}


def test_an_error_handler_counts_as_a_path() -> None:
    def broken(given: Any) -> Any:
        raise ValueError("no")

    graph = {
        "nodes": functions("a", "b", "d", "mend", x={"on_error": "mend"}),
        "start": ["a", "x"],
        "edges": [
            {"from": "mend", "to": "b"},
            {"from": ["a", "b"], "to": "d"},
            {"from": "x", "to": "d"},
        ],
    }
    played = play(graph, {"x": broken}, input=1)
    assert played.output["b"]["error"]["message"] == "no"


@pytest.mark.parametrize("wait", ["any", 1])
def test_a_late_message_does_not_fire_a_fan_in_again(wait: Any) -> None:
    graph = {
        "nodes": functions("a", "b", "slow", "slower", "log", "d"),
        "start": "a",
        "edges": [
            {"from": "a", "to": ["b", "slow"]},
            {"from": "slow", "to": ["slower", "log"]},
            {"from": ["b", "slower"], "to": "d", "wait": wait},
            {"from": "slower", "to": "log"},
        ],
    }
    played = play(graph, input=1)
    assert (played.runs_of("slower"), played.runs_of("d")) == (1, 1)
    assert played.state.late == {}
    dropped = [one for commit in played.commits for one in commit.dropped]
    assert [one.reason for one in dropped] == ["the fan-in did not wait for it"]


def test_a_source_that_never_comes_owes_nothing_in_the_next_round() -> None:
    graph = {
        "nodes": functions("a", "b", "slow", "slower", "log", "d"),
        "start": "a",
        "state": {"n": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "a", "to": ["b", "slow"]},
            {"from": "slow", "to": "slower", "when": "state.n > 1"},
            {"from": "slow", "to": "log"},
            {"from": ["b", "slower"], "to": "d", "wait": "any"},
            {"from": "d", "to": "a", "when": "state.n < 2"},
            {"from": "d", "when": "state.n >= 2", "output": "done"},
            {"from": "log", "when": "True", "output": "logged"},
        ],
    }
    played = play(graph, {"d": lambda g: result(g.message, writes=(Write("n", "add", 1),))})
    assert played.output == ["logged", "logged", "done"]
    assert played.state.buffers == {}
