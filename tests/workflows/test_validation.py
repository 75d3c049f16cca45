"""Validation: every fault at once, each a sentence with its place and its mend."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.workflow import WorkflowSpec
from agents.workflows.validation.faults import Installation, InvalidGraphError, KnownFunction
from agents.workflows.validation.types import SchemaComparison
from agents.workflows.validation.validate import check_graph, find_faults
from tests.workflows.driver import functions


def faults_of(settings: dict[str, Any], **options: Any) -> list[str]:
    graph = GraphSpec.model_validate(settings)
    return [fault.sentence for fault in find_faults(graph, **options)]


def steps(**tables: Any) -> GraphSpec:
    return WorkflowSpec.model_validate({"name": "w", "steps": tables}).graph


LINE: dict[str, Any] = {
    "nodes": functions("a", "b"),
    "start": "a",
    "edges": [{"from": "a", "to": "b"}],
}


def test_a_sound_graph_has_no_faults() -> None:
    assert faults_of(LINE) == []
    check_graph("line", GraphSpec.model_validate(LINE))


def test_all_faults_are_found_at_once() -> None:
    graph = {
        "nodes": [{"name": "a", "function": "a"}, {"name": "a", "function": "b", "form": {}}],
        "edges": [{"from": "a", "to": "bb", "when": "state.x"}],
    }
    with pytest.raises(InvalidGraphError) as raised:
        check_graph("broken", GraphSpec.model_validate(graph))
    assert [fault.place for fault in raised.value.faults] == [
        ("nodes", 1, "name"),
        ("nodes", 1, "form"),
        ("start",),
        ("edges", 0),
        ("edges", 0),
    ]
    assert str(raised.value).count("\n- ") == 5


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown node": (
        {"edges": [{"from": "a", "to": "bb"}]},
        'The edge a → bb names the unknown node "bb"; did you mean b?',
    ),
    "unknown start": ({"start": "zebra"}, 'start names the unknown node "zebra"; there are: a, b'),
    "unreachable": (
        {"nodes": functions("a", "b", "c")},
        'No path leads from the start to the node "c": add an edge to it, or remove it.',
    ),
    "duplicate edge": (
        {"edges": [{"from": "a", "to": "b"}, {"from": "a", "to": "b"}]},
        "The edge a → b is there twice: remove one of them.",
    ),
    "no way out": (
        {"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]},
        'No path leads from "a", "b" to an end: add an edge with an output, or to a node without '
        "edges of its own.",
    ),
    "unknown handler": (
        {"nodes": functions("b", a={"on_error": "mend"})},
        'on_error of the node "a" names the unknown node "mend"; there are: b, a',
    ),
    "unknown step": (
        {"edges": [{"from": "a", "to": "b", "when": "steps.aa.output"}]},
        'The edge a → b reads the unknown node "aa"; did you mean a?',
    ),
    "part of a step": (
        {"edges": [{"from": "a", "to": "b", "when": "steps.a.result"}]},
        'The edge a → b reads "result" of a node, which has output, error, errors, visits.',
    ),
    "unknown key": (
        {"edges": [{"from": "a", "to": "b", "when": "state.n > 1"}]},
        'The edge a → b reads the undeclared key "n" of the state; there are: none yet',
    ),
    "item": (
        {"nodes": {"a": {"agent": "x", "task": "{{ item }}"}, "b": {"function": "b"}}},
        'The node "a" (task) reads "item", which only the templates of a node with each have.',
    ),
    "message at the end": (
        {"output": "{{ message }}"},
        'The output of the workflow reads "message", and there is none at the end: read steps, '
        "state or input.",
    ),
    "unknown field of the input": (
        {
            "input": {
                "type": "object",
                "properties": {"topic": {}},
                "additionalProperties": False,
            },
            "nodes": {"a": {"agent": "x", "task": "{{ input.topik }}"}, "b": {"function": "b"}},
        },
        'The node "a" (task) reads "topik", which the input does not have; did you mean topic?',
    ),
    "misplaced setting": (
        {"nodes": functions("b", a={"group": "editors"})},
        'The node "a" has group, which belongs to ask: remove it.',
    ),
    "max_parallel": (
        {"nodes": functions("b", a={"max_parallel": 3})},
        'The node "a" has max_parallel without each: name the list in each, or remove it.',
    ),
    "wait": (
        {"edges": [{"from": ["a"], "to": "b", "wait": 2}]},
        'The edge a → b waits for 2 of 1 sources: write "all", or a smaller number.',
    ),
    "undeclared key": (
        {"nodes": {"a": {"set": {"x": 1}}, "b": {"function": "b"}}},
        'The node "a" sets the undeclared key "x": declare it in state.',
    ),
    "disjoint types": (
        {
            "nodes": functions(
                a={"output": {"type": "string"}}, b={"input": {"type": ["object", "null"]}}
            )
        },
        "The edge a → b carries what its target does not accept: the message is string, not null "
        "or object.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_names_its_place_and_its_mend(case: str) -> None:
    change, sentence = CASES[case]
    assert sentence in faults_of({**LINE, **change})


def test_two_nodes_that_certainly_set_a_key_together_are_refused() -> None:
    graph = {
        "nodes": functions("a") | {"b": {"set": {"x": 1}}, "c": {"set": {"x": 2}}},
        "start": "a",
        "state": {"x": {}},
        "edges": [{"from": "a", "to": ["b", "c"]}],
    }
    [fault] = faults_of(graph)
    assert fault.startswith('The nodes "b" and "c" set the key "x" in one superstep')
    selected = {"edges": [{"from": "a", "to": ["b", "c"], "select": "'b'"}]}
    assert faults_of({**graph, **selected}) == []
    assert faults_of({**graph, "state": {"x": {"merge": "append"}}}) == []


def test_names_of_the_installation_are_checked_where_they_are_known() -> None:
    known = Installation(functions={"a": KnownFunction(output={"type": "string"})})
    [fault] = faults_of(LINE, installation=known)
    assert fault == 'The node "b" names the unknown function "b"; there are: a'
    known = Installation(
        functions={
            "a": KnownFunction(output={"type": "string"}),
            "b": KnownFunction(input={"type": "number"}),
        }
    )
    assert "the message is string, not number" in faults_of(LINE, installation=known)[0]


@pytest.mark.parametrize(
    ("output", "accepted", "problem"),
    [
        ({"type": "integer"}, {"type": "number"}, ""),
        ({"type": "string"}, {"type": "number"}, "the message is string, not number."),
        ({}, {"type": "number"}, ""),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string"}, ""),
        ({"type": "object"}, {"type": "object", "required": ["x"]}, ""),
        (
            {"type": "object", "properties": {}, "additionalProperties": False},
            {"type": "object", "required": ["x"]},
            'the message has no "x", which is required.',
        ),
        (
            {
                "$ref": "#/$defs/D",
                "$defs": {
                    "D": {
                        "type": "object",
                        "required": ["x"],
                        "properties": {"x": {"type": "string"}},
                    }
                },
            },
            {"type": "object", "properties": {"x": {"type": "array"}}},
            '"x" is string, not array.',
        ),
    ],
)
def test_only_certain_misfits_are_faults(output: Any, accepted: Any, problem: str) -> None:
    assert SchemaComparison().misfit(output, accepted) == problem


def test_a_cycle_of_steps_is_refused_with_its_path() -> None:
    """Conformance case 25."""
    graph = steps(
        a={"agent": "x"},
        b={"agent": "x", "needs": ["a", "d"]},
        c={"agent": "x", "needs": ["b"]},
        d={"agent": "x", "needs": ["c"]},
    )
    sentences = [fault.sentence for fault in find_faults(graph)]
    assert any("b → c → d → b wait for each other" in sentence for sentence in sentences)


READY: dict[str, tuple[dict[str, Any], str]] = {
    "two ways into a node": (
        {"edges": [{"from": "a", "to": "c"}, {"from": "b", "to": "c"}], "start": ["a", "b"]},
        'The node "c" is sent messages by the edge a → c and the edge b → c',
    ),
    "any": (
        {"edges": [{"from": ["a", "b"], "to": "c", "wait": "any"}], "start": ["a", "b"]},
        "the quickest would decide",
    ),
    "a node beside it": (
        {
            "edges": [{"from": "a", "to": "c", "when": "steps.b.output"}],
            "start": ["a", "b"],
        },
        'reads what the node "b" produces, which may not have ended then',
    ),
    "two writers": (
        {
            "nodes": {"a": {"set": {"n": 1}}, "b": {"set": {"n": 2}}, "c": {"function": "c"}},
            "state": {"n": {"merge": "add"}},
            "start": ["a", "b", "c"],
        },
        'The nodes "a" and "b" write the key "n"',
    ),
}


@pytest.mark.parametrize("case", READY)
def test_ready_is_refused_where_it_may_change_the_result(case: str) -> None:
    change, part = READY[case]
    graph = {"nodes": functions("a", "b", "c"), **change}
    ready = faults_of({**graph, "order": "ready"})
    assert any(part in sentence for sentence in ready)
    assert all('order = "barrier"' in sentence for sentence in ready)
    assert faults_of({**graph, "order": "barrier"}) == []


def test_workflows_that_run_each_other_are_refused() -> None:
    """Conformance case 19, the part without runs."""
    graph = {"nodes": {"x": {"workflow": "b"}}, "start": "x"}
    [fault] = faults_of(graph, name="a", workflows={"b": ["a"]})
    assert "a → b → a run each other without an end" in fault
    deep = {f"w{level}": [f"w{level + 1}"] for level in range(8)}
    [fault] = faults_of(
        {"nodes": {"x": {"workflow": "w0"}}, "start": "x"}, name="a", workflows=deep
    )
    assert "is nested 10 levels deep, and 8 are accepted" in fault


@pytest.mark.parametrize(
    ("fan_ins", "sentence"),
    [
        (51, "The graph connects 51,000 pairs of nodes, and 50,000 are accepted: move a part of "),
        (49, "The graph connects 49,000 pairs of nodes, and 49 of its fan-ins lie on cycles or "),
    ],
)
def test_a_graph_with_too_many_paths_is_refused_before_they_are_followed(
    fan_ins: int, sentence: str
) -> None:
    names = [f"n{number}" for number in range(1000)]
    edges = [{"from": names, "to": name} for name in names[:fan_ins]]
    [fault] = faults_of({"nodes": functions(*names), "start": "n0", "edges": edges})
    assert fault.startswith(sentence)


def test_a_large_graph_is_checked_quickly() -> None:
    names = [f"n{number}" for number in range(1000)]
    graph = {
        "nodes": functions(*names),
        "start": "n0",
        "edges": [{"from": a, "to": b} for a, b in pairwise(names)],
    }
    assert faults_of(graph) == []
