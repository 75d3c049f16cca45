"""How a webhook's body becomes a task: fields in texts, wanted values, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.errors import InvalidMappingError, MessageTooLongError, MissingFieldError
from agents.inbound.mapping import Mapped, check_mapping, read_body

BODY: Any = {
    "type": "ticket.created",
    "urgent": True,
    "count": 1,
    "note": None,
    "ticket": {"id": 7, "body": "Help {ticket.id}!", "tags": ["a", {"b": "c"}]},
}


def task(text: str, body: Any = BODY) -> str:
    found = read_body(check_mapping({"task": text}), body)
    assert found is not None
    return found.task


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Answer {ticket.body}", "Answer Help {ticket.id}!"),
        ("{ticket.tags.0}, {ticket.tags.1.b}", "a, c"),
        ("{ticket.tags}", '["a", {"b": "c"}]'),
        ("{urgent} {count} {note}.", "true 1 ."),
        ("{ticket.phone?}{ticket.tags.2?}{ticket.body.x?}.", "."),
        ('{"a": {}} {not a field} {count}', '{"a": {}} {not a field} 1'),
    ],
)
def test_fields_are_filled_in_once(text: str, expected: str) -> None:
    assert task(text) == expected


@pytest.mark.parametrize(
    "path",
    [*("phone", "ticket.phone", "ticket.tags.2", "ticket.tags.-1"), f"ticket.tags.{'9' * 5000}"],
    ids=len,
)
def test_a_field_that_is_missing_is_named(path: str) -> None:
    with pytest.raises(MissingFieldError, match=path):
        task(f"{{{path}}}")


def test_without_a_task_it_is_the_whole_body_in_a_fence() -> None:
    small, large = {"a": "```"}, {"a": "x" * 30_000}
    assert json.dumps(small, indent=2) in task("", small)
    assert task("", small).startswith("````json"), "a fence that the body cannot close"
    assert json.dumps(large) in task("", large), "what is long is not indented"


def test_all_texts_are_filled() -> None:
    texts = {"task": "{urgent}", "title": "{type}", "conversation": "{count}", "sender": "{note}"}
    assert read_body(check_mapping(texts), BODY) == Mapped("true", "ticket.created", "1", "")


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        ({"type": "ticket.created"}, True),
        ({"type": ["ticket.closed", "ticket.created"]}, True),
        ({"type": "ticket.closed"}, False),
        ({"ticket.id": 7, "urgent": True}, True),
        ({"ticket.id": 7, "urgent": False}, False),
        ({"urgent": 1}, False),
        ({"count": True}, False),
        ({"note": None}, True),
        ({"phone": None}, False),
    ],
)
def test_only_messages_with_the_wanted_values_are_taken(
    only: dict[str, Any], *, wanted: bool
) -> None:
    assert (read_body(check_mapping({"only": only}), BODY) is not None) is wanted


def test_fields_that_are_too_long_together_are_refused() -> None:
    with pytest.raises(MessageTooLongError):
        task("{a}" * 11, {"a": "x" * 100_000})
    assert len(task("{a}" * 10, {"a": "x" * 100_000})) == 1_000_000


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([], "object"),
        ({"tasks": "x"}, "'tasks'"),
        ({"task": 7}, "'task'"),
        ({"task": "Answer {ticket.body"}, "'task' is not valid: a { has no }: write a field as"),
        ({"task": "Answer {ticket.body}}"}, "'task' is not valid: a } has no {: write a field as"),
        ({"title": "{"}, "'title' is not valid: a { has no }"),
        ({"conversation": "}{"}, "'conversation' is not valid: a } has no {"),
        ({"sender": "{from"}, "'sender' is not valid: a { has no }"),
        ({"task": "Answer {the ticket}"}, "'task' is not valid: it has no field of the body"),
        ({"title": "x" * 501}, "'title'"),
        ({"only": {"a b": 1}}, "'only"),
        ({"only": {"a": {"b": 1}}}, "'only"),
        ({"only": dict.fromkeys(map(str, range(21)), 1)}, "'only'"),
    ],
)
def test_what_is_no_mapping_is_refused_in_one_sentence(value: object, named: str) -> None:
    with pytest.raises(InvalidMappingError) as refused:
        check_mapping(value)
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)
