"""Sequential and concurrent agents, and the forms of a workflow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from agents.workflows.builder.patterns import concurrent, sequential
from agents.workflows.records import NodeError
from tests.workflows.driver import result
from tests.workflows.patterns.players import Cast, from_toml


def test_agents_one_after_another_each_read_the_answer_before() -> None:
    chain = sequential("chain", ["writer", "editor", "reader"])
    cast = Cast(chain, writer=["Owls."], editor=[{"text": "Owls!"}], reader=[None])
    assert cast.play("Write.").output is None
    assert cast.tasks["writer"] == ["Write."]
    assert cast.tasks["editor"] == ["Write.\n\nThe answer of writer:\n\nOwls."]
    assert cast.tasks["reader"] == ['Write.\n\nThe answer of editor:\n\n{"text": "Owls!"}']


def test_agents_side_by_side_answer_by_name() -> None:
    panel = concurrent("panel", ["a", "b"])
    assert Cast(panel, b=[""]).play().output == {"a": "a answers", "b": ""}
    alone = Cast(concurrent("one", ["a"])).play()
    assert alone.output == {"a": "a answers"}


def test_an_agent_sums_up_even_if_another_failed() -> None:
    panel = concurrent("panel", ["a", "b"], then="b", on_error="continue")
    failed = result(status="error", error=NodeError("failed", "no model"))
    cast = Cast(panel, a=lambda _: failed)
    assert cast.play("Vote.").output == "b answers"
    assert cast.tasks["b"] == [
        "Vote.",
        "Vote.\n\nThe answer of a:\n\n(no answer)\n\nThe answer of b:\n\nb answers",
    ]
    strict = Cast(concurrent("panel", ["a", "b"]), a=lambda _: failed).play()
    assert 'The node "a" failed' in strict.failure.message


def test_a_pattern_is_continued_by_nodes_of_its_own() -> None:
    chain = sequential("chain", ["writer"]).ask("check", "Good?").edge("writer", "check")
    assert [edge.text for edge in chain.check().spec.edges] == ["writer → check"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("steps.a.set = {}", "has both sequential and steps; write one form"),
        ("concurrent.agents = ['a']", "has both sequential and concurrent; write one form"),
        ("nodes.a.set = {}", "has both sequential and nodes; write one form"),
    ],
)
def test_a_workflow_has_one_form(text: str, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        from_toml(f"name = 'x'\nsequential.agents = ['a']\n{text}")


@pytest.mark.parametrize("given", ["", 3, {"a": 3}, {"A b": ""}, [["a"]]])
def test_agents_are_names_or_roles_by_name(given: Any) -> None:
    table = {"name": "x", "sequential": {"agents": given}}
    with pytest.raises(ValidationError, match=re.escape("sequential.agents")):
        type(from_toml("name = 'y'\nsequential.agents = ['a']")).model_validate(table)
