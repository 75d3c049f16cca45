"""A typed function becomes a tool: its schema, its text, and its arguments in its own types."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from heartbit_site.base.credentials import ApiKeyCredential, BearerCredential, CredentialNeed
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.suspensions import Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, Label, ToolContext, ToolSpec, tool


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

    def absent(a: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821
        """Do."""
        return str(a)

    refused: list[tuple[Any, str]] = [
        (untyped, "annotation"),
        (starred, "by name"),
        (named, "by name"),
        (silent, "description"),
        (absent, "the type Missing of a parameter is not defined"),
    ]
    for function, sentence in refused:
        with pytest.raises(ConfigurationError, match=sentence):
            tool()(function)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


def test_every_kind_of_parameter_has_a_schema_and_arrives_as_itself() -> None:
    @tool
    def paint(
        colour: Colour,
        size: Size,
        day: datetime.date,
        mood: Literal["calm", "wild"] = "calm",
        note: str | None = None,
        tags: tuple[str, ...] = (),
    ) -> str:
        """Paint."""
        return f"{colour} {size} {day} {mood} {note} {tags}"

    spec = spec_of(paint)
    arguments = {"colour": "red", "size": {"width": 2}, "day": "2026-05-01", "tags": ["a"]}
    assert validate(spec.parameters, arguments) == []
    assert spec.bind is not None
    assert spec.bind(arguments) == {
        "colour": Colour.RED,
        "size": Size(2, 1),
        "day": datetime.date(2026, 5, 1),
        "mood": "calm",
        "note": None,
        "tags": ("a",),
    }
    mistakes: list[dict[str, Any]] = [
        {"colour": "green"},
        {"mood": "sad"},
        {"size": {}},
        {"note": 5},
    ]
    for wrong in mistakes:
        assert validate(spec.parameters, {**arguments, **wrong}), wrong


def test_parameters_are_described_by_the_docstring_unless_by_themselves() -> None:
    @tool
    def search(  # noqa: D417  one parameter is left out on purpose
        query: str, limit: Annotated[int, Field(description="How many.", ge=1)] = 3, where: str = ""
    ) -> str:
        """Search the web.

        Takes a while.

        Args:
            query (str): What to look for,
                in plain words.
            limit: Not shown: the annotation has its own.
            gone: A parameter that was removed.

        Returns:
            The pages.
        """
        return f"{query} {limit} {where}"

    spec = spec_of(search)
    described = {
        name: schema.get("description") for name, schema in spec.parameters["properties"].items()
    }
    assert described == {
        "query": "What to look for, in plain words.",
        "limit": "How many.",
        "where": None,
    }
    assert spec.parameters["properties"]["limit"]["minimum"] == 1
    assert spec.description == "Search the web.\n\nTakes a while.\n\nReturns:\n    The pages."


NUMPY = """Search the web.

Parameters
----------
query : str
    What to look for.

Returns
-------
str
    The pages.
"""
REST = """Search the web.

:param query: What to look for.
:returns: The pages.
"""


@pytest.mark.parametrize("docstring", [NUMPY, REST], ids=["NumPy", "reST"])
def test_docstrings_of_other_styles_describe_parameters_too(docstring: str) -> None:
    def search(query: str) -> str:
        return query

    search.__doc__ = docstring
    spec = spec_of(tool(effect="pure")(search))
    assert spec.parameters["properties"]["query"]["description"] == "What to look for."
    assert spec.description.startswith("Search the web.\n\nReturns:\n    ")
    assert spec.description.endswith("The pages.")
    assert "param" not in spec.description.lower()


def test_options_are_taken_and_a_wrong_effect_is_refused() -> None:
    @tool(effect="pure", labels=(Label.OUTBOUND,), tags=("web",), timeout_seconds=5)
    def weather(key: ApiKeyCredential | BearerCredential | None, city: str) -> str:
        """Tell the weather."""
        return city

    spec = spec_of(weather)
    assert (spec.effect, spec.timeout_seconds) == (Effect.PURE, 5)
    assert spec.credentials == (CredentialNeed("key", ("api_key", "bearer"), optional=True),)
    assert list(spec.parameters["properties"]) == ["city"], "the model does not see the key"
    assert (spec.labels, spec.tags) == (frozenset({Label.OUTBOUND}), ("web",))
    assert spec.source == __name__
    with pytest.raises(ConfigurationError, match="has the effect 'harmless': use one of pure, "):
        tool(effect="harmless")(weather)


def test_a_credential_or_something_else_is_refused() -> None:
    def weather(key: BearerCredential | str, city: str) -> str:
        """Tell the weather."""
        return city

    with pytest.raises(ConfigurationError, match="'key' of tool 'weather' mixes a credential with"):
        tool(weather)


class TestClasses:
    def test_one_instance_is_made_and_its_method_is_the_tool(self) -> None:
        made = []

        @tool(effect=Effect.PURE)
        class HTTPStatusOf:
            """Tell the status.

            Args:
                url: Of the page.
            """

            def __init__(self) -> None:
                self.calls = 0
                made.append(self)

            def run(self, context: ToolContext, url: str) -> str:
                self.calls += 1
                return f"{url} {self.calls}"

        spec = spec_of(HTTPStatusOf)
        assert spec.name == "http_status_of"
        assert spec.description == "Tell the status."
        assert spec.parameters["properties"] == {
            "url": {"type": "string", "description": "Of the page."}
        }
        assert spec.context_parameter == "context"
        assert not spec.is_async
        assert spec.function(context=None, url="a") == "a 1"
        assert spec.function(context=None, url="a") == "a 2"
        assert len(made) == 1
        assert isinstance(HTTPStatusOf(), HTTPStatusOf), "the class stays a class"

    def test_call_and_async_and_resume(self) -> None:
        @tool
        class Ask:
            """Ask."""

            async def __call__(self, question: str) -> Suspension:
                """Not read: the class says what the tool does."""
                return Suspension((), float(len(question)))

            def resume(self, outcomes: tuple[WaitOutcome, ...]) -> str:
                return f"{len(outcomes)} answers"

        spec = spec_of(Ask)
        assert (spec.name, spec.description, spec.is_async) == ("ask", "Ask.", True)
        assert spec.resume is not None
        assert spec.resume(()) == "0 answers"

    def test_a_class_that_cannot_be_a_tool_is_refused(self) -> None:
        class Greedy:
            """Do."""

            def __init__(self, key: str) -> None:
                self.key = key

        class Idle:
            """Do."""

        class Silent:
            def run(self) -> str:
                return ""

        refused: list[tuple[type, str]] = [
            (Greedy, "the constructor of Greedy must work without arguments"),
            (Idle, "give Idle a method run"),
            (Silent, "description"),
        ]
        for kind, sentence in refused:
            with pytest.raises(ConfigurationError, match=sentence):
                tool(kind)
