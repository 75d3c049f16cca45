"""Drawings of graphs: layout, SVG and Mermaid."""

from __future__ import annotations

import random
import re
import time
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from agents.workflows.drawing.changes import Marks, marks_of
from agents.workflows.drawing.glyphs import KINDS, STATES
from agents.workflows.drawing.layout import draw
from agents.workflows.drawing.mermaid import to_mermaid
from agents.workflows.drawing.outline import DrawingTooLargeError
from agents.workflows.drawing.svg import describe, to_svg
from agents.workflows.graph import compile_graph
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import WORK
from tests.pace import in_time
from tests.workflows.graphs import any_graph, ready_graph

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    '"]; click n1 "https://evil.example"',
    "<script>alert(1)</script>",
    "a --> b",
    "direction LR",
    "%%{init: {}}%%",
    "'\"><img src=x onerror=alert(1)>",
    "```\nend",
    "style x fill:#f00;",
    "1. first",
    "]]>",
    "$$x$$",
]


def graph(**more: object) -> GraphSpec:
    return GraphSpec.model_validate(more)


LOOP = graph(
    nodes={
        "grade": {"function": "grade"},
        "improve": {"agent": "writer", "on_error": "mend"},
        "mend": {"set": {"n": 1}},
        "editor": {"ask": "Publish it?"},
        "publish": {"tool": "send", "each": "message"},
    },
    start="grade",
    state={"n": {}},
    edges=[
        {
            "from": "grade",
            "cases": [
                {"when": "message > 8", "to": "publish"},
                {"when": "state.n", "to": "editor"},
            ],
            "default": "improve",
        },
        {"from": "improve", "to": "grade"},
        {"from": ["editor", "mend"], "to": "publish", "wait": "any"},
        {"from": "editor", "output": "rejected", "when": "not message"},
    ],
)


@pytest.mark.parametrize("seed", range(200))
def test_nodes_never_overlap_and_lie_within_the_drawing(seed: int) -> None:
    for make in (any_graph, ready_graph):
        drawing = draw(GraphSpec.model_validate(make(random.Random(seed))))  # noqa: S311
        for one, other in combinations(drawing.nodes, 2):
            apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
            apart_y = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert apart_x or apart_y, (one, other)
        for node in drawing.nodes:
            assert node.x >= 0
            assert node.x + node.width <= drawing.width
            assert node.y >= 0
            assert node.y + node.height <= drawing.height


@pytest.mark.parametrize("seed", range(20))
def test_edges_lead_forward_or_are_detours_below(seed: int) -> None:
    drawing = draw(GraphSpec.model_validate(any_graph(random.Random(seed))))  # noqa: S311
    for edge in drawing.edges:
        xs = [x for x, _ in edge.points]
        assert edge.is_detour or xs == sorted(xs)
        low = max(y for _, y in edge.points)
        if edge.is_detour:
            left, right = sorted(edge.points[place][0] for place in (2, 3))
            under = [node for node in drawing.nodes if left <= node.x and node.x < right]
            assert all(node.y + node.height < low for node in under)


def test_equal_graphs_have_equal_drawings_compiled_or_not() -> None:
    again = GraphSpec.model_validate(LOOP.plain())
    assert draw(LOOP) == draw(again) == draw(compile_graph(LOOP))


def test_cycles_fan_ins_cases_errors_and_ends_are_drawn() -> None:
    drawing = draw(LOOP)
    assert [edge.link.source for edge in drawing.edges if edge.is_detour] == ["node improve"]
    said = describe(drawing)
    for words in (
        "start to grade",
        "grade to publish (message > 8)",
        "grade to improve (else)",
        "improve to mend (on error)",
        "editor to join",
        "join to publish",
        "editor to end (not message)",
        "publish to end",
    ):
        assert words in said


def test_edges_to_nodes_that_do_not_exist_are_left_out() -> None:
    drawing = draw(graph(nodes={"a": {"agent": "x"}}, edges=[{"from": "a", "to": "gone"}]))
    assert [node.item.name for node in drawing.nodes] == ["", "a"]


def test_each_kind_and_state_has_a_sign_of_its_own() -> None:
    assert set(KINDS) == set(WORK)
    assert len(set(KINDS.values())) == len(KINDS)
    assert len(set(STATES.values())) == len(STATES)


def test_nodes_name_their_work() -> None:
    nodes = {"a": {"pause": "90m"}, "b": {"set": {"x": 1, "y": 2}}, "c": {"code": "1\n" * 9}}
    items = [node.item.text for node in draw(graph(nodes=nodes, start="a")).nodes]
    assert items[1:4] == ["pause 1 h 30 min", "set x, y", "code python"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_in_svg(name: str) -> None:
    plain = " ".join(name.split())
    spec = graph(
        nodes={plain: {"agent": plain}, "b": {"ask": name}},
        start=plain,
        edges=[{"from": plain, "to": "b", "when": "message == " + repr(plain)}],
    )
    svg = to_svg(draw(spec), states={plain: "done"}, title=name)
    root = ElementTree.fromstring(svg)  # noqa: S314  # of this test
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "path", "rect", "circle", "text"}
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)
    nodes = {element.get("data-node"): element for element in root.iter(f"{SVG}g")}
    assert nodes[plain].get("data-state") == "done"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_in_mermaid(name: str) -> None:
    plain = " ".join(name.split())
    spec = graph(
        nodes={plain: {"agent": plain}, "b": {"ask": name}},
        start=plain,
        edges=[{"from": plain, "to": "b", "when": "message == " + repr(plain)}],
    )
    first, *lines = to_mermaid(spec).splitlines()
    assert first == "flowchart LR"
    label = r'"(?:[\w .,#;…-]|<br/>)*"'
    shape = rf" {{4}}n\d+\W{{1,3}}{label}\W{{1,3}}"
    edge = rf" {{4}}n\d+ -\.?->(?:\|{label}\|)? n\d+"
    for line in lines:
        assert re.fullmatch(f"{shape}|{edge}", line), line
        assert "direction" not in line
        assert '"1.' not in line
        assert "#36;#36;" not in line


def test_hidden_characters_of_names_are_shown() -> None:
    spec = graph(nodes={"a": {"ask": "exe\u202etxt"}}, start="a")
    for text in (to_svg(draw(spec)), to_mermaid(spec)):
        assert "\u202e" not in text
        assert "202e" in text


def test_what_differs_from_another_version_is_marked() -> None:
    edges = LOOP.plain()["edges"]
    before = graph(**LOOP.plain())
    nodes = [
        one | ({"task": "Other"} if one["name"] == "improve" else {})
        for one in before.plain()["nodes"]
    ]
    after = graph(
        **LOOP.plain()
        | {
            "nodes": [*nodes, {"name": "new", "agent": "x"}],
            "edges": [{"from": "mend", "to": "new"}, *edges[1:]],
        }
    )
    assert marks_of(after, before, "added") == Marks(
        {"improve": "changed", "new": "added"},
        {
            ("node mend", "node new"): "added",
            ("node new", "end new"): "added",
            ("node grade", "end grade"): "added",
        },
    )
    removed = marks_of(before, after, "removed")
    assert removed.nodes == {"improve": "changed"}
    assert set(removed.edges) == {
        ("node grade", f"node {name}") for name in ("publish", "editor", "improve")
    }
    svg = to_svg(draw(after), edges=marks_of(after, before, "added").edges)
    assert 'data-to="node new" data-state="added"' in svg


def large(kind: str, count: int = 1_000) -> GraphSpec:
    chance = random.Random(1)  # noqa: S311
    names = [f"n{number}" for number in range(count)]
    chain = [{"from": one, "to": other} for one, other in pairwise(names)]
    pairs = [sorted(chance.sample(range(count), 2)) for _ in range(2 * count)]
    edges = {
        "chain": chain,
        "tangle": [{"from": chance.choice(names), "to": chance.choice(names)} for _ in pairs],
        "far": [*chain, *({"from": names[one], "to": names[two]} for one, two in pairs)],
        "fan": [{"from": names[0], "to": names[1:-1]}, {"from": names[1:-1], "to": names[-1]}],
    }
    return graph(nodes={name: {"agent": "a"} for name in names}, edges=edges[kind], start=names[0])


@pytest.mark.paced
@pytest.mark.parametrize("kind", ["chain", "tangle", "far", "fan"])
def test_a_thousand_nodes_are_drawn_in_time(kind: str) -> None:
    spec = large(kind)
    began = time.process_time()
    svg = to_svg(draw(spec))
    in_time(time.process_time() - began, 2.5)
    assert svg.count("data-node") == 1_000
    assert len(svg) < 4_000_000


def test_a_graph_with_too_many_edges_is_refused() -> None:
    names = [f"n{number}" for number in range(200)]
    spec = graph(
        nodes={name: {"agent": "a"} for name in names},
        edges=[{"from": names, "to": name} for name in names],
        start="n0",
    )
    for make in (draw, to_mermaid):
        with pytest.raises(DrawingTooLargeError, match="more than 6,000 pairs"):
            make(spec)
