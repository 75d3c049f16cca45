"""Routing: edges of each kind, errors, limits, and the reasons that failures name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from agents.workflows.calls import expired, validated
from agents.workflows.events import NodeFinished
from agents.workflows.records import AskedPerson, Sent, Write
from agents.workflows.state import GraphState
from tests.workflows.driver import Driver, fold, functions, play, result


def test_a_line_hands_its_messages_on() -> None:
    played = play(
        {
            "nodes": functions("a", "b"),
            "start": "a",
            "edges": [{"from": "a", "to": "b", "message": "{{ message + 1 }}"}],
        },
        {"a": lambda given: given.message * 2, "b": lambda given: f"b{given.message}"},
        input=20,
    )
    assert played.output == "b41"
    assert [commit.superstep for commit in played.commits] == [0, 1, 2]


def test_a_conditional_edge_that_is_dropped_names_its_condition() -> None:
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [
            {"from": "a", "to": "b", "when": "message > 10"},
            {"from": "a", "to": "c", "when": "message <= 10"},
        ],
    }
    played = play(graph, input=3)
    assert played.output == 3
    [dropped] = played.commits[1].dropped
    assert dropped.reason == '"message > 10" is false'


SWITCH = {
    "nodes": functions("a", "b", "c", "d"),
    "start": "a",
    "edges": [
        {
            "from": "a",
            "cases": [{"when": "message > 5", "to": "b"}, {"when": "message > 3", "to": "c"}],
            "default": "d",
        }
    ],
}


@pytest.mark.parametrize(("given", "target"), [(9, "b"), (4, "c"), (1, "d")])
def test_the_first_case_that_applies_is_taken(given: int, target: str) -> None:
    [taken] = play(SWITCH, input=given).commits[1].taken
    assert taken.target == target


def test_a_condition_without_a_match_fails_the_run_and_names_node_and_edges() -> None:
    edges = [{"from": "a", "cases": [{"when": "message > 5", "to": "b"}]}]
    failure = play({**SWITCH, "nodes": functions("a", "b"), "edges": edges}, input=1).failure
    assert failure.node == "a"
    assert failure.message == (
        'No edge of the node "a" applies (to "b": no case applies): add an edge or a default.'
    )


def test_a_condition_that_raises_is_an_error_and_never_false() -> None:
    failure = play(SWITCH, input={"kind": "x"}).failure
    assert failure.node == "a"
    assert failure.message == (
        'The edge a → b, c, d fails: The expression "message > 5" compares a number and an object '
        "by >."
    )


@pytest.mark.parametrize(
    ("select", "targets"),
    [("", ["b", "c"]), ("['c']", ["c"]), ("[0]", ["b"]), ("message", ["c"])],
)
def test_a_fan_out_sends_to_all_or_to_those_selected(select: str, targets: list[str]) -> None:
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [{"from": "a", "to": ["b", "c"], "select": select}],
    }
    assert [one.target for one in play(graph, input="c").commits[1].taken] == targets


def test_a_fan_out_that_selects_no_target_fails_with_the_targets() -> None:
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [{"from": "a", "to": ["b", "c"], "select": "'d'"}],
    }
    assert "'d' is chosen, which is no target; targets are b, c" in play(graph).failure.message


def test_an_edge_may_end_the_run_with_an_output() -> None:
    graph = {
        "nodes": functions("a", "b"),
        "start": "a",
        "edges": [
            {"from": "a", "to": "b", "when": "message"},
            {"from": "a", "when": "not message", "output": "rejected"},
        ],
    }
    assert play(graph, input=False).output == "rejected"


def test_a_run_that_ends_without_an_output_has_failed() -> None:
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [
            {"from": "a", "to": "b"},
            {"from": ["b"], "to": "c", "when": "message.b > 5"},
        ],
    }
    failure = play(graph, input=1).failure
    assert failure.message == (
        'The run ended after the node "b" without an output ("b" to "c": "message.b > 5" is '
        "false): add an edge, a default or an end."
    )


def test_a_self_edge_with_a_counter_ends_and_its_limit_names_the_node() -> None:
    graph: dict[str, Any] = {
        "nodes": functions("count"),
        "start": "count",
        "state": {"n": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "count", "to": "count", "when": "state.n < 5"},
            {"from": "count", "when": "state.n >= 5", "output": "{{ state.n }}"},
        ],
    }
    work = {"count": lambda given: result("x", writes=(Write("n", "add", 1),))}
    assert play(graph, work).output == 5
    failure = play({**graph, "limits": {"supersteps": 3}}, work).failure
    assert (failure.node, failure.limit) == ("count", "supersteps")
    assert "limit of 3 supersteps, and continues with count" in failure.message


def test_activations_are_limited_since_cycles_multiply_messages() -> None:
    graph = {
        "nodes": functions("a", "b"),
        "start": "a",
        "edges": [{"from": "a", "to": ["a", "b"]}, {"from": "b", "to": ["a", "b"]}],
        "limits": {"activations": 100},
    }
    failure = play(graph, input=1).failure
    assert failure.limit == "activations"


def test_two_nodes_that_set_a_key_in_one_superstep_are_both_named() -> None:
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "state": {"x": {}},
        "edges": [{"from": "a", "to": ["b", "c"]}],
    }
    write = lambda given: result(1, writes=(Write("x", "set", given.node.name),))  # noqa: E731
    failure = play(graph, {"b": write, "c": write}, input=1).failure
    assert failure.message.startswith('The nodes "b" and "c" set the state\'s key "x" in one')


@pytest.mark.parametrize(
    ("merge", "initial", "expected"),
    [
        ("append", None, [1, 2, 3]),
        ("append", [0], [0, 1, 2, 3]),
        ("add", 10, 16),
        ("min", None, 1),
        ("max", 0, 3),
    ],
)
def test_several_writers_are_merged_in_the_order_of_their_nodes(
    merge: Any, initial: Any, expected: Any
) -> None:
    graph = {
        "nodes": functions("a", "b", "c", "d"),
        "start": ["b", "c", "d"],
        "state": {"x": {"merge": merge, "initial": initial}},
        "output": "{{ state.x }}",
    }
    writes = {
        name: lambda given, number=number: result(0, writes=(Write("x", merge, number),))
        for number, name in enumerate("bcd", 1)
    }
    for order in (list, lambda calls: calls[::-1]):
        assert play(graph, writes, order=order).output == expected


def test_objects_are_merged_key_by_key() -> None:
    graph = {
        "nodes": {"a": {"set": {"x": {"a": "{{ message }}"}}}, "b": {"set": {"x": {"b": 2}}}},
        "start": ["a", "b"],
        "state": {"x": {"merge": "merge"}},
        "output": "{{ state.x }}",
    }
    assert play(graph, input=1).output == {"a": 1, "b": 2}


def test_an_error_ends_the_run_at_once_or_when_what_runs_has_ended() -> None:
    graph = {"nodes": functions("a", "b"), "start": ["a", "b"], "edges": []}

    def broken(given: Any) -> Any:
        raise ValueError("no")

    fast = play(graph, {"a": broken}, input=1)
    assert fast.failure.message == 'The node "a" failed: no'
    finish = play({**graph, "failure": "finish"}, {"a": broken, "b": broken}, input=1)
    assert finish.failure.message == 'The node "a" failed: no; the node "b" failed: no'


def test_an_error_may_be_passed_over_or_sent_to_a_node() -> None:
    def broken(given: Any) -> Any:
        raise ValueError("no")

    nodes = {"a": {"function": "a", "on_error": "continue"}, "b": {"function": "b"}}
    graph: dict[str, Any] = {"nodes": nodes, "start": "a", "edges": [{"from": "a", "to": "b"}]}
    played = play(graph, {"a": broken, "b": lambda given: [given.message]}, input=1)
    assert played.output == [None]
    nodes = {"a": {"function": "a", "on_error": "mend"}, "b": {"function": "b"}} | functions("mend")
    played = play({**graph, "nodes": nodes}, {"a": broken}, input=1)
    assert played.output["node"] == "a"
    assert played.output["error"]["message"] == "no"
    assert played.runs_of("b") == 0


def test_a_retry_sees_the_errors_before_it() -> None:
    def flaky(given: Any) -> Any:
        if given.call.attempt < 3:
            raise ValueError(f"try {given.call.attempt}")
        return [error.message for error in given.call.previous_errors]

    graph = {"nodes": functions(a={"retry": {"times": 2, "backoff_seconds": 3}}), "start": "a"}
    assert play(graph, {"a": flaky}).output == ["try 1", "try 2"]
    graph = {"nodes": functions(a={"retry": 1}), "start": "a"}
    assert play(graph, {"a": flaky}).failure.message == 'The node "a" failed: try 2'


def test_a_thousand_entries_keep_their_order_and_every_failure_is_named() -> None:
    def some(given: Any) -> Any:
        if given.message % 27 == 26:
            raise ValueError(f"bad {given.message}")
        return given.message * 2

    nodes = functions("list", "end", each={"each": "message", "on_error": "continue"})
    graph = {
        "nodes": nodes,
        "start": "list",
        "edges": [
            {"from": "list", "to": "each"},
            {"from": "each", "to": "end", "message": "{{ steps.each.errors }}"},
        ],
        "output": "{{ [steps.each.output, len(steps.end.output)] }}",
    }
    entries = list(range(1000))
    shuffled = play(graph, {"each": some}, input=entries, order=lambda calls: calls[::-1])
    outputs, failures = shuffled.output
    assert failures == 37
    assert outputs == [None if entry % 27 == 26 else entry * 2 for entry in entries]
    nodes["each"]["on_error"] = "fail"
    failure = play({**graph, "nodes": nodes, "failure": "finish"}, {"each": some}, input=entries)
    assert failure.failure.message.count("(entry ") == 37


def test_an_empty_list_has_an_empty_output() -> None:
    graph = {
        "nodes": functions("a", each={"each": "message"}),
        "start": "a",
        "edges": [{"from": "a", "to": "each"}],
    }
    assert play(graph, input=[]).output == []


def test_a_question_of_the_graph_holds_no_barrier() -> None:
    graph = {
        "nodes": {"a": {"function": "a"}, "q": {"ask": "Is {{ message }} right?"}}
        | functions("b", "c"),
        "start": ["a", "q"],
        "edges": [{"from": "a", "to": "b"}, {"from": "q", "to": "c", "when": "message"}],
    }
    driver = Driver(graph, input=7)
    played = driver.play()
    assert played.ending is None
    assert played.runs_of("b") == 1
    assert driver.answer("q", answer=True).output == [7, True]


def test_the_answer_to_a_question_of_a_function_is_sent_to_its_reply() -> None:
    def ask(given: Any) -> Any:
        if given.call.activation.role == "reply":
            return f"heard {given.message}"
        return result(asked=AskedPerson("Sure?"))

    graph = {"nodes": functions("a", "b"), "start": "a", "edges": [{"from": "a", "to": "b"}]}
    driver = Driver(graph, {"a": ask})
    assert driver.play().ending is None
    [question] = driver.waiting()
    assert question.activation.role == "question"
    assert driver.answer("a", "yes").output == "heard yes"
    assert driver.played.runs_of("b") == 1


def test_a_question_that_expires_is_an_error_of_its_function() -> None:
    ask = {"a": lambda given: result(asked=AskedPerson("Sure?", timeout_seconds=1))}
    graph = {"nodes": functions("late", a={"on_error": "late"}), "start": "a"}
    driver = Driver(graph, ask)
    driver.play()
    [call] = driver.waiting()
    driver.record(expired(driver.given(call)))
    assert driver.play().output["error"]["type"] == "timeout"


def test_messages_that_a_function_sends_itself_go_to_their_targets() -> None:
    sends = (Sent("to both"), Sent("to c", target="c"))
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}],
    }
    played = play(graph, {"a": lambda given: result(sends=sends)})
    assert played.output == ["to both", "to both", "to c"]
    wrong = play(graph, {"a": lambda given: result(sends=(Sent(1, target="x"),))})
    assert 'none leads to "x"' in wrong.failure.message


def test_a_message_that_does_not_fit_is_the_error_of_its_sender() -> None:
    nodes = functions("a", b={"input": {"type": "object", "required": ["kind"]}})
    graph = {"nodes": nodes, "start": "a", "edges": [{"from": "a", "to": "b"}]}
    failure = play(graph, input={}).failure
    assert failure.node == "a"
    assert "'kind' is required and missing" in failure.message


def test_a_validator_passes_its_message_on_or_fails_with_the_problems() -> None:
    graph = {
        "nodes": {"check": {"validator": "check"}} | functions("b"),
        "start": "check",
        "edges": [{"from": "check", "to": "b"}],
    }

    def check(given: Any) -> Any:
        return validated(given, ["too short", "no title"] if len(given.message) < 3 else [])

    assert play(graph, {"check": check}, input="long").output == "long"
    failure = play(graph, {"check": check}, input="s").failure
    assert failure.message == 'The node "check" failed: too short; no title'


def test_the_content_of_a_message_is_stored_once() -> None:
    targets = [f"t{number}" for number in range(50)]
    graph = {
        "nodes": functions("a", *targets),
        "start": "a",
        "edges": [{"from": "a", "to": targets, "message": "{{ message.big }}"}],
    }
    played = play(graph, {"a": lambda given: {"big": "x" * 100_000}})
    assert len(str(played.commits[1])) < 20_000
    assert played.output[49] == "x" * 100_000


def test_an_artifact_is_read_where_its_content_is_needed() -> None:
    graph = {
        "nodes": functions("a", "b"),
        "start": "a",
        "edges": [{"from": "a", "to": "b", "when": "message.ok", "message": "{{ message.text }}"}],
    }
    work = {"a": lambda given: result(artifact="big.json")}
    played = play(graph, work, artifacts={"big.json": {"ok": True, "text": "long"}})
    assert played.output == "long"
    assert "big.json" in played.state.artifacts()


def test_names_may_have_any_characters() -> None:
    graph = {
        "nodes": functions("первый шаг", "b.c d", "🦊"),
        "start": "первый шаг",
        "state": {"ключ 🔑": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "первый шаг", "to": "b.c d", "when": "state['ключ 🔑'] == 0"},
            {"from": "b.c d", "to": "🦊", "message": "{{ steps['первый шаг'].output }}"},
        ],
    }
    assert play(graph, input="ü").output == "ü"


def test_the_fold_of_the_events_alone_is_the_state() -> None:
    played = play(SWITCH, input=9)
    assert fold(GraphState(), played.events) == played.state


def test_of_an_answer_and_an_expiry_at_one_instant_the_first_counts() -> None:
    """Conformance case 12, the part of routing."""
    graph = {
        "nodes": {"q": {"ask": "?", "timeout": "1s", "on_timeout": "late"}} | functions("a"),
        "start": "q",
        "edges": [{"from": "q", "to": "a"}],
    }
    driver = Driver(graph)
    driver.play()
    [call] = driver.waiting()
    driver.record(NodeFinished(call.call_id, "q", output="answered"))
    driver.record(expired(driver.given(call)))
    assert driver.play().output == "answered"
    driver = Driver(graph)
    driver.play()
    driver.record(expired(driver.given(call)))
    driver.record(NodeFinished(call.call_id, "q", output="answered"))
    assert driver.play().output == "late"
    nodes = {"q": {"ask": "?"}} | functions("a")
    driver = Driver({**graph, "nodes": nodes})
    driver.play()
    driver.record(expired(driver.given(call)))
    assert driver.play().failure.message == 'The node "q" failed: no one answered in time'


def test_a_checkpoint_of_the_state_is_the_state() -> None:
    driver = Driver(
        {
            "nodes": functions("a", "b", each={"each": "message"}) | {"q": {"ask": "?"}},
            "start": ["a", "q"],
            "state": {"x": {"merge": "append"}},
            "edges": [{"from": "a", "to": "each"}, {"from": ["each", "q"], "to": "b"}],
        },
        {"each": lambda given: result(given.message, writes=(Write("x", "append", 1),))},
        input=[1, 2],
    )
    driver.play()
    adapter = TypeAdapter(GraphState)
    stored = json.loads(json.dumps(adapter.dump_python(driver.played.state, mode="json")))
    assert adapter.validate_python(stored) == driver.played.state


def test_ten_thousand_supersteps_of_a_self_edge_stay_as_small_as_ten() -> None:
    """Conformance case 8, without a database."""
    graph = {
        "nodes": functions("count"),
        "start": "count",
        "state": {"n": {"merge": "add", "initial": 0}},
        "edges": [
            {"from": "count", "cases": [{"when": "state.n < 10000", "to": "count"}]},
            {"from": "count", "when": "state.n >= 10000", "output": "{{ state.n }}"},
        ],
        "limits": {"supersteps": 10_001, "activations": 10_001},
    }
    work = {"count": lambda given: result("x", writes=(Write("n", "add", 1),))}
    played = play(graph, work, is_stored=False)
    assert played.output == 10_000
    assert len(played.state.produced) == 1


def test_a_message_does_not_change_with_the_state_that_it_was_made_of() -> None:
    graph = {
        "nodes": functions("a", "b", "c") | {"q": {"ask": "?"}},
        "start": "a",
        "state": {"log": {"merge": "append"}},
        "edges": [
            {"from": "a", "to": "q", "message": "{{ state.log }}"},
            {"from": "a", "to": "b", "message": "{{ {'all': [state.log]} }}"},
            {"from": "q", "output": "{{ [steps.b.output, message, state.log] }}"},
            {"from": "b", "to": "c"},
        ],
    }
    log = lambda given: result(given.message, writes=(Write("log", "append", 1),))  # noqa: E731
    for is_stored in (True, False):
        driver = Driver(graph, {"a": log, "b": log, "c": log}, is_stored=is_stored)
        driver.play()
        [question] = driver.waiting()
        assert question.activation.message.value == [1]
        assert driver.answer("q", "yes").output == [
            {"all": [[1]]},
            [{"all": [[1]]}, "yes", [1] * 3],
        ]
