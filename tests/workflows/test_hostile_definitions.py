"""Hostile definitions: checked and compiled in linear time, and refused with sentences alone."""

from __future__ import annotations

import math
import time
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from pydantic import ValidationError

from agents.definitions.validation_messages import check
from agents.workflows.expressions.expression import compile_expression
from agents.workflows.graph import Graph, compile_graph
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.graph import GraphSpec, read_graph
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.workflow import WorkflowSpec
from agents.workflows.validation.faults import Installation, KnownFunction
from agents.workflows.validation.types import SchemaComparison
from agents.workflows.validation.validate import find_faults
from tests.pace import in_time
from tests.workflows import graphs
from tests.workflows.driver import compiled, functions

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [f"n{number}" for number in range(1_000)]
PAIRS = list(zip(NAMES[2:], NAMES[1:], NAMES, strict=False))
LARGE = 10**400
Settings = dict[str, Any]


def steps_with_two_needs() -> Settings:
    edges = [{"from": [first, second], "to": name} for name, first, second in PAIRS]
    return {"nodes": functions(*NAMES), "start": NAMES[:2], "edges": edges}


def names_that_look_like_others() -> Settings:
    return {"nodes": {name: {"tool": "x" * 60 + name} for name in NAMES}, "start": NAMES}


def edges_to_unknown_nodes() -> Settings:
    unknown = [f"m{number}" for number in range(40)]
    edges = [{"from": name, "to": unknown} for name in NAMES]
    return {"nodes": functions(*NAMES), "start": NAMES, "edges": edges}


def templates_that_read_unknown_nodes() -> Settings:
    reads = [" or ".join(f"steps.q{one}_{n}.output" for n in range(25)) for one in range(199)]
    return {"nodes": functions(*NAMES), "start": NAMES, "output": [f"{{{{ {r} }}}}" for r in reads]}


def switches_with_many_cases() -> Settings:
    cases = [{"when": "message", "to": name} for name in NAMES]
    edges = [{"from": name, "cases": cases} for name in NAMES[:40]]
    return {"nodes": functions(*NAMES), "start": NAMES, "edges": edges}


def fan_ins_with_many_references() -> Settings:
    reads = [" or ".join(f"input.q{one}_{n}" for n in range(25)) for one in range(199)]
    edge = {"from": NAMES[1:], "to": "n0", "message": [f"{{{{ {one} }}}}" for one in reads]}
    return {"nodes": functions(*NAMES), "start": NAMES[1:], "edges": [edge] * 2}


def nodes_that_read_while_ready() -> Settings:
    nodes = {name: {"function": "f", "when": "steps.n0.output"} for name in NAMES}
    edges = [{"from": name, "to": NAMES[at + 1 : at + 50]} for at, name in enumerate(NAMES[:-1])]
    return {"nodes": nodes, "start": "n0", "edges": edges, "order": "ready"}


def writers_on_cycles_of_prime_lengths() -> Settings:
    edges, start, taken = [], [], 0
    for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47):
        cycle = NAMES[taken : taken + prime]
        taken += prime
        start.append(cycle[0])
        pairs = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        edges += [{"from": source, "to": target} for source, target in pairs]
    keys = [f"k{number}" for number in range(50)]
    nodes = {name: {"set": dict.fromkeys(keys, 1)} for name in NAMES[:taken]}
    state = {key: {"merge": "set"} for key in keys}
    return {"nodes": nodes, "start": start, "edges": edges, "state": state}


def schemas_that_refer_to_each_other() -> Settings:
    layers = [{"anyOf": [{"$ref": f"#/$defs/{layer + 1}"}] * 180} for layer in range(4)]
    layers.append({})
    schema = {"$ref": "#/$defs/0", "$defs": {str(at): one for at, one in enumerate(layers)}}
    nodes = functions(a={"output": schema}, b={"input": schema})
    return {"nodes": nodes, "start": "a", "edges": [{"from": "a", "to": "b"}]}


def a_schema_that_is_compared_a_thousand_times() -> Settings:
    keys = [f"k{number}" for number in range(20_000)]
    fields = {"type": "object", "properties": {"k": {"type": "string"}}}
    nodes = functions(a={"output": {"type": "object", "required": keys}})
    nodes |= functions(**{name: {"input": fields} for name in NAMES[:999]})
    edges = [{"from": "a", "to": name, "when": f"{n}"} for name in NAMES[:999] for n in range(3)]
    return {"nodes": nodes, "start": "a", "edges": edges}


def fan_ins_on_one_cycle() -> Settings:
    graph = steps_with_two_needs()
    graph["edges"] += [{"from": NAMES[-1], "to": "n0"}, {"from": NAMES[-1], "output": 1}]
    return graph


def fan_ins_that_wait_for_any() -> Settings:
    graph = steps_with_two_needs()
    return graph | {"edges": [{**edge, "wait": "any"} for edge in graph["edges"]]}


HOSTILE: list[Callable[[], Settings]] = [
    *(steps_with_two_needs, names_that_look_like_others, edges_to_unknown_nodes),
    *(templates_that_read_unknown_nodes, switches_with_many_cases, fan_ins_with_many_references),
    *(nodes_that_read_while_ready, writers_on_cycles_of_prime_lengths),
    *(schemas_that_refer_to_each_other, a_schema_that_is_compared_a_thousand_times),
    *(fan_ins_on_one_cycle, fan_ins_that_wait_for_any),
]
KNOWN = Installation(tools=frozenset("y" * 60 + name for name in NAMES))


@pytest.mark.paced
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_graph_is_checked_and_compiled_in_linear_time(hostile: Callable[[], Settings]) -> None:
    graph = read_graph(hostile())
    began = time.process_time()
    if not find_faults(graph, installation=KNOWN):
        compile_graph(graph)
    in_time(time.process_time() - began, 0.8)


def test_the_faults_end_at_a_hundred_and_the_first_ones_suggest_names() -> None:
    faults = find_faults(read_graph(edges_to_unknown_nodes()))
    *first, last = [fault.sentence for fault in faults]
    assert len(first) == 100
    assert ["; there are: " in sentence for sentence in first[:7]] == [True] * 5 + [False] * 2
    assert first[5].endswith('names the unknown node "m5".')
    assert last == "The graph has more than 100 faults: mend these first."
    assert sum(map(len, first)) < 50_000


def test_each_expression_is_compiled_once_for_all_checks() -> None:
    nodes = {name: {"function": "f", "when": f"message.{name}"} for name in NAMES}
    settings = {"name": "w", "nodes": nodes, "start": NAMES, "order": "ready"}
    spec = WorkflowSpec.model_validate(settings)
    before = compile_expression.cache_info().misses
    assert find_faults(spec.graph) == []
    assert compile_expression.cache_info().misses - before <= len(NAMES)


def test_the_templates_of_a_node_are_compiled_with_the_graph() -> None:
    nodes = {
        "a": {"agent": "x", "task": "{{ message.task }}"},
        "b": {"ask": "Go on?", "on_timeout": "{{ input }}"},
    }
    graph = compiled({"nodes": nodes, "start": ["a", "b"]})
    assert graph.nodes["a"].templates.keys() == {"task"}
    assert graph.nodes["a"].templates["task"].path == ("message", "task")
    assert graph.nodes["b"].templates.keys() == {"ask", "on_timeout"}


def test_the_answer_in_time_is_checked_as_other_templates() -> None:
    nodes = {"a": {"ask": "Go on?", "on_timeout": "{{ steps.b.output }}"}}
    [fault] = find_faults(read_graph({"nodes": nodes, "start": "a"}))
    assert fault.sentence == 'The node "a" (on_timeout) reads the unknown node "b"; there are: a'


def _reached(graph: Graph, start: str, without: int) -> set[str]:
    """Nodes that a message at a node may reach; an edge is left out."""
    found, pending = {start}, [start]
    while pending:
        for edge in graph.nodes[pending.pop()].outgoing:
            new = set(edge.targets) - found if edge.index != without else set()
            found |= new
            pending += new
    return found


def test_fan_ins_know_the_paths_that_avoid_them() -> None:
    cyclic = 0
    for seed in range(200):
        graph = compiled(graphs.any_graph(Random(seed)))  # noqa: S311  repeatable, not secret
        ends = {name for name, node in graph.nodes.items() if node.is_terminal}
        ends |= {edge.sources[0] for edge in graph.edges if edge.kind == "end"}
        for (index, fan_in), name in product(graph.fan_ins.items(), graph.nodes):
            reached = _reached(graph, name, index)
            assert fan_in.fed_by([name]) == reached & set(fan_in.sources), (seed, name)
            is_exclusive = reached & set(fan_in.sources) and not reached & ends
            if fan_in.edge.spec.wait != "all":
                assert (name in fan_in.exclusive) == bool(is_exclusive), (seed, name)
            cyclic += name == fan_in.target and bool(reached & set(fan_in.sources))
    assert cyclic > 20


def _complaints(**settings: Any) -> list[str]:
    graph = {"name": "w", "nodes": functions("a", "b"), "start": "a"}
    return [sentence for _, sentence in check(WorkflowSpec, {**graph, **settings}, ())]


MANY = [f"m{number}" for number in range(1_001)]


@pytest.mark.parametrize(
    "long",
    [
        {"nodes": functions(*MANY)},
        {"start": MANY},
        {"state": {name: {} for name in MANY}},
        {"edges": [{"from": "a", "to": "b"}] * 3_001},
        {"edges": [{"from": "a", "cases": [{"when": "message", "to": "b"}] * 1_001}]},
        {"edges": [{"from": "a", "to": MANY}]},
        {"edges": [{"from": MANY, "to": "a"}]},
        {"nodes": {"a": {"set": dict.fromkeys(MANY, 1)}}},
        {"nodes": {"a": {"tool": "t", "arguments": dict.fromkeys(MANY, 1)}}},
    ],
)
def test_each_list_has_a_longest_length(long: Settings) -> None:
    [sentence] = [one for one in _complaints(**long) if "must have at most" in one]
    assert sentence.startswith(("must have at most 1000 entries", "must have at most 3000 entries"))


@pytest.mark.paced
def test_a_long_team_is_refused() -> None:
    team = [f"m{number}" for number in range(50_000)]
    began = time.process_time()
    [sentence] = _complaints(nodes={name: {"agent": name} for name in NAMES}, team=team)
    in_time(time.process_time() - began, 0.5)
    assert sentence == (
        "has 51,000 entries in team, with those of its nodes; at most 1,000 are accepted"
    )


@pytest.mark.parametrize("pause", [LARGE, -1, math.nan, math.inf, "9d" * 9_999, "9" * 9_999])
def test_a_duration_that_is_none_is_refused(pause: Any) -> None:
    [sentence] = _complaints(nodes={"a": {"pause": pause}})
    assert sentence.startswith(("must be from 0 to 31,622,400 seconds", 'is "9'))
    assert len(sentence) < 200


@pytest.mark.parametrize("content", [None, [], "nodes", 3, True])
def test_a_graph_that_is_no_object_is_refused(content: Any) -> None:
    with pytest.raises(ValidationError):
        read_graph(content)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("\ufb01nd", 'is "\ufb01nd", which is not in normal form (NFKC); write "find"'),
        ("e\u0301", 'is "e\u0301", which is not in normal form (NFKC); write "\u00e9"'),
        ("a\u200bb", r'is "a\u200bb"; remove spaces at its ends, double ones, tabs, line'),
        ("a\u2800", r'is "a\u2800"; remove spaces'),
        ("a\u00a0b", r'is "a\u00a0b"; remove spaces'),
        ("a  b", 'is "a  b"; remove spaces'),
        ("a\nb", 'is "a\nb"; remove spaces'),
    ],
)
def test_names_that_look_like_others_are_refused(name: str, sentence: str) -> None:
    of_nodes = _complaints(nodes={name: {"set": {}}, "a": {"set": {}}})
    of_keys = _complaints(state={name: {}})
    assert [one[: len(sentence)] for one in (*of_nodes, *of_keys)] == [sentence] * 2


WORDS = ["a", "b", "", "fail", "all", "message", "{{ steps.a.output }}", "{{", "3d", "#/a/²", "²"]
REFERENCES = ["#", "#/$defs/a", "#/anyOf/0", "#/anyOf/²", "https://[", "#a", f"#/anyOf/{'9' * 90}"]
plain = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=4)
    | some.sampled_from([*WORDS, LARGE])
)
json = some.recursive(
    plain,
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.text(max_size=3) | some.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYWORDS = [
    *("$ref", "$defs", "type", "anyOf", "oneOf", "required", "properties", "patternProperties"),
    *("additionalProperties", "a"),
]
TYPES = ["object", "string", "integer", ["object", "null"], ["a", ["b"]], {"a": 1}]
schemas = some.recursive(
    json | some.sampled_from([*REFERENCES, *TYPES]),
    lambda inner: (
        some.dictionaries(some.sampled_from(KEYWORDS), inner, max_size=4)
        | some.lists(inner, max_size=3)
    ),
    max_leaves=12,
).filter(lambda schema: isinstance(schema, dict))


@settings(max_examples=300, deadline=None)
@given(schemas, schemas)
@example({"type": "object", "properties": 5}, {"type": "object", "required": 5})
@example({"type": "object"}, {"type": "object", "properties": [1], "required": [[]]})
@example({"type": [["string"]], "anyOf": {}}, {"$ref": 5})
@example({"$ref": "#/anyOf/²", "anyOf": [{}]}, {"type": "string"})
@example({"type": "object", "required": [{}]}, {"type": "object", "properties": {"a": {}}})
def test_no_schema_raises(output: Settings, accepted: Settings) -> None:
    assert isinstance(SchemaComparison().misfit(output, accepted), str)


@pytest.mark.parametrize(
    ("output", "accepted"),
    [
        ({"$ref": "https://example.org/a#", "type": "string"}, {"type": "number"}),
        ({"$ref": "#anchor", "type": "string"}, {"type": "number"}),
        ({"type": "unknown"}, {"type": "number"}),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "patternProperties": {"^x$": {}},
            },
            {"type": "object", "required": ["x"]},
        ),
    ],
)
def test_a_schema_that_is_not_understood_fits_everything(
    output: Settings, accepted: Settings
) -> None:
    assert SchemaComparison().misfit(output, accepted) == ""


WHOLE: Settings = {
    "nodes": [
        {"name": "a", "function": "a", "output": {"type": "object"}},
        {"name": "b", "agent": "b", "task": "{{ message }}", "each": "message"},
        {"name": "c", "set": {"k": "{{ message }}"}, "input": {"type": "array"}},
        {"name": "d", "ask": "Go on?", "on_timeout": 1},
    ],
    "start": ["a"],
    "state": {"k": {"merge": "set"}},
    "edges": [
        {"from": "a", "to": "b", "when": "state.k"},
        {"from": "a", "cases": [{"when": "message", "to": "c"}], "default": "d"},
        {"from": ["b", "c"], "to": "d"},
    ],
}
NAMED = {str(field.alias or name): name for name, field in EdgeSpec.model_fields.items()}
places = (
    some.tuples(some.sampled_from(list(GraphSpec.model_fields)))
    | some.tuples(
        some.just("nodes"), some.integers(0, 3), some.sampled_from(list(NodeSpec.model_fields))
    )
    | some.tuples(some.just("edges"), some.integers(0, 2), some.sampled_from(list(NAMED)))
)


def _changed(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    key, *rest = place
    if isinstance(content, list):
        return [
            _changed(one, tuple(rest), value) if at == key else one
            for at, one in enumerate(content)
        ]
    return {**content, key: _changed(content.get(key), tuple(rest), value)}


@settings(max_examples=300, deadline=None)
@given(
    some.dictionaries(places, json | schemas, max_size=2), some.sampled_from(["barrier", "ready"])
)
def test_no_definition_raises_anything_but_faults(
    changes: dict[tuple[Any, ...], Any], order: str
) -> None:
    content: Any = {**WHOLE, "order": order}
    for place, value in sorted(changes.items(), key=lambda change: -len(change[0])):
        content = _changed(content, place, value)
    try:
        graph = read_graph(content)
    except ValidationError:
        return
    known = Installation(functions={"a": KnownFunction({"type": "string"}, {"$ref": "#/²"})})
    if not find_faults(graph, installation=known):
        compile_graph(graph)
