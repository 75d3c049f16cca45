"""A typed function becomes a tool: its schema, its text, and its arguments in its own types."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import ToolContext, ToolSpec, tool


class Place(BaseModel):
    city: str


@tool()
def book(
    context: ToolContext,
    when: datetime.datetime,
    place: Place,
    json: dict[str, int],
    schema: Annotated[int, Field(description="How many.", ge=1)] = 3,
    kind: Literal["a", "b"] | None = None,
) -> str:
    """Book a table."""
    return f"{context} {when} {place} {json} {schema} {kind}"


def spec_of(function: object) -> ToolSpec:
    spec = getattr(function, "__tool__", None)
    assert isinstance(spec, ToolSpec)
    return spec


def test_the_schema_names_every_parameter_but_the_context() -> None:
    parameters = spec_of(book).parameters
    assert list(parameters["properties"]) == ["when", "place", "json", "schema", "kind"]
    assert parameters["required"] == ["when", "place", "json"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["schema"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "How many.",
    }
    assert spec_of(book).context_parameter == "context"


def test_arguments_arrive_in_the_types_of_the_annotations() -> None:
    bind = spec_of(book).bind
    assert bind is not None
    arguments = {"when": "2026-01-02T03:04:05Z", "place": {"city": "Ulm"}, "json": {"a": 1}}
    assert bind(arguments) == {
        "when": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        "place": Place(city="Ulm"),
        "json": {"a": 1},
        "schema": 3,
        "kind": None,
    }
    with pytest.raises(ValueError, match=r"^when: Input should be a valid datetime") as caught:
        bind(arguments | {"when": "tomorrow"})
    assert "https://" not in str(caught.value)


def test_a_function_that_cannot_be_a_tool_is_refused() -> None:
    def untyped(a) -> str:  # type: ignore[no-untyped-def]
        """Do."""
        return str(a)

    def starred(*a: int) -> str:
        """Do."""
        return str(a)

    def named(**a: int) -> str:
        """Do."""
        return str(a)

    def silent(a: int) -> str:
        return str(a)

    refused: list[tuple[Any, str]] = [
        (untyped, "annotation"),
        (starred, "by name"),
        (named, "by name"),
        (silent, "description"),
    ]
    for function, sentence in refused:
        with pytest.raises(ConfigurationError, match=sentence):
            tool()(function)
