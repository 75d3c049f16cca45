"""A task's long form is read strictly, cleaned, and rendered the same way every time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.output.fences import fenced
from agents.output.payload import PayloadError, TaskPayload, parse, render
from heartbit_site.base.errors import HeartbitError

TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)
SAMPLES = st.sampled_from(["```", "a\n```\nb", "````json", "# Task: other", "\u2028```"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT | SAMPLES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PAYLOADS = st.fixed_dictionaries(
    {
        "action": st.from_regex(r"[a-z][a-z_-]{0,31}", fullmatch=True),
        "spec": VALUES | st.just({}) | st.just([1]),
    },
    optional={
        "inputs": VALUES,
        "constraints": st.lists(TEXT, max_size=4),
    },
)


def test_given_a_payload_then_the_model_reads_all_of_it() -> None:
    payload = parse(
        {
            "action": "review",
            "spec": "Review the module billing.\n",
            "inputs": {"path": "billing.py", "code": "```\nx\n```", "limit": 3},
            "constraints": ["No SQL", "Be brief:\nten lines"],
        }
    )
    assert render(payload) == (
        "# Task: review\n\n"
        "Review the module billing.\n\n"
        "## Inputs\n\n"
        '````json\n{\n  "code": "```\\nx\\n```",\n  "limit": 3,\n  "path": "billing.py"\n}\n'
        "````\n\n"
        "## Constraints\n\n"
        "- No SQL\n- Be brief:\n  ten lines"
    )


def test_given_only_what_is_required_then_there_are_no_empty_headings() -> None:
    payload = parse({"action": "plan", "spec": "A trip."})
    assert payload == TaskPayload(action="plan", spec="A trip.", inputs={}, constraints=[])
    assert render(payload) == "# Task: plan\n\nA trip."


@pytest.mark.parametrize("value", [{}, [1], None, 3, True, {"steps": ["a", 2]}])
def test_given_a_spec_that_is_no_text_then_the_model_reads_it_as_json(value: Any) -> None:
    payload = parse({"action": "plan", "spec": value, "inputs": value})
    assert (payload.spec, payload.inputs) == (value, value)
    assert json.loads(fenced(render(payload))[0].content) == value


@given(PAYLOADS)
@settings(max_examples=200)
def test_given_any_payload_then_it_is_storable_and_reads_back_and_keeps_its_inputs(
    value: dict[str, Any],
) -> None:
    payload = parse(value)
    stored = json.dumps(payload.model_dump(), ensure_ascii=False, sort_keys=True)
    stored.encode()
    assert "\x00" not in stored
    assert parse(json.loads(stored)) == payload
    text = render(payload)
    assert render(parse(json.loads(stored))) == text
    given: list[Any] = [] if isinstance(payload.spec, str) else [payload.spec]
    if isinstance(payload.spec, str) and fenced(payload.spec):
        return
    given += [payload.inputs] if payload.inputs not in (None, "", {}, []) else []
    shown = [json.loads(block.content) for block in fenced(text)[: len(given)]]
    assert shown == given


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("review it", "is an object with the fields action, spec, inputs and constraints, not a"),
        (None, "not a NoneType"),
        ({"spec": "x"}, "The task payload needs the field 'action'."),
        ({"action": "plan"}, "needs the field 'spec'"),
        ({"action": "Plan", "spec": "x"}, "'action' is one verb in lower case"),
        ({"action": "", "spec": "x"}, "not ''"),
        ({"action": "plan\n", "spec": "x"}, "not 'plan\\n'"),
        ({"action": "a" * 33, "spec": "x"}, "at most 32 letters"),
        ({"action": "plan it", "spec": "x"}, "not 'plan it'"),
        ({"action": 3, "spec": "x"}, "'action' is not valid: input should be a valid string"),
        ({"action": "plan", "spec": " \n"}, "'spec' must not be empty"),
        ({"action": "plan", "spec": "x" * 100_001}, "'spec' is too large: 100001 characters, at"),
        ({"action": "plan", "spec": ["x" * 100_000]}, "'spec' is too large: 100004 characters of"),
        ({"action": "plan", "spec": "x", "input": {}}, "has no field 'input': it takes action"),
        (
            {"action": "plan", "spec": "x", "inputs": {"a": "x" * 270_000}},
            "'inputs' is too large: 270009 characters of JSON",
        ),
        ({"action": "plan", "spec": "x", "inputs": {"a": object()}}, "cannot be stored as JSON"),
        ({"action": "plan", "spec": "x", "inputs": {"a": 2**70}}, "cannot be stored as JSON"),
        ({"action": "plan", "spec": "x", "constraints": "none"}, "'constraints' is not valid"),
        ({"action": "plan", "spec": "x", "constraints": ["a", ""]}, "'constraints.1' must not be"),
        ({"action": "plan", "spec": "x", "constraints": ["a"] * 65}, "at most 64 items"),
    ],
)
def test_given_anything_else_then_one_sentence_names_the_field(
    value: object, sentence: str
) -> None:
    with pytest.raises(PayloadError) as refusal:
        parse(value)
    assert sentence in str(refusal.value)
    assert isinstance(refusal.value, HeartbitError)
    assert len(str(refusal.value)) < 300
    assert "\n" not in str(refusal.value)


def test_given_a_payload_in_python_then_it_is_frozen() -> None:
    payload = parse({"action": "plan", "spec": "x"})
    with pytest.raises(ValueError, match="frozen"):
        payload.spec = "y"  # type: ignore[misc]  # what is tested
