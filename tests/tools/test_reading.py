"""What a model calls and with what: read, repaired where the meaning is plain, else answered."""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import Field

from tests.tools.calls import add, add_on_loop, call, made, nothing
from tools.calls.pipeline import PendingApprovalCall, RequireApproval
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.toolspec import ToolSpec


@pytest.mark.parametrize("function", [add, add_on_loop])
async def test_a_good_call_is_ok(function: Any) -> None:
    assert await call(made(function), '{"a": 1, "b": 2.5}') == ToolResult("3.5", "ok")


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
async def test_no_text_means_no_arguments(arguments: str) -> None:
    assert await call(made(nothing), arguments) == ToolResult("null", "ok")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("{", "could not be parsed. The JSON is malformed"),
        ("[1]", "The JSON is not an object"),
        ('"[1]"', "The JSON is not an object"),
        ('"{}"', "'a' is required"),
        ("null", "The JSON is not an object"),
        ('{"a": NaN, "b": 1}', "NaN"),
        ('{"a": 1, "a": 2, "b": 3}', "than once"),
        ("[" * 100_000, "too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "64 bits"),
        ('{"a": 1}', "'b' is required"),
        ('{"a": 1, "b": "x"}', "b: 'x' is not of type number"),
        ('{"a": 1, "b": 2, "c": 3}', "c is not accepted here; accepted are a, b"),
    ],
)
async def test_wrong_arguments_are_answered(arguments: str, sentence: str) -> None:
    done = await call(made(add), arguments)
    assert isinstance(done, ToolResult)
    assert (done.status, sentence in done.content) == ("invalid", True)


async def test_a_type_that_wants_more_than_its_schema_is_answered() -> None:
    def fetch(id: uuid.UUID) -> str:
        return str(type(id))

    spec = made(fetch)
    loose = dataclasses.replace(spec, parameters={"type": "object"})
    assert await call(spec, f'{{"id": "{uuid.UUID(int=1)}"}}') == ToolResult(
        "<class 'uuid.UUID'>", "ok"
    )
    done = await call(loose, '{"id": "x"}')
    assert isinstance(done, ToolResult)
    assert (done.status, "- ValueError: id: Input should be" in done.content) == ("invalid", True)


@pytest.mark.parametrize(
    "name", ["Add", "functions.add", "default_api:ADD", "a-d-d", "add()", " add", "x/y.add"]
)
async def test_a_near_miss_is_repaired(name: str) -> None:
    assert await call(made(add), '{"a": 1, "b": 2}', name=name) == ToolResult("3.0", "ok")


async def test_an_unknown_name_is_answered_with_the_closest() -> None:
    tools = Registry(made(add, name=name) for name in ("web_search", "web_fetch", "calendar"))
    done = await call(tools, name="search_web")
    assert done == ToolResult(
        "There is no tool 'search_web'. The closest are: web_search, web_fetch.", "invalid"
    )
    done = await call(tools, name="\x00\ud800" * 5_000)
    assert isinstance(done, ToolResult)
    assert (done.status, len(done.content) < 500) == ("invalid", True)
    empty = await call({}, name="x")
    assert empty == ToolResult("There is no tool 'x'. There are no tools.", "invalid")


async def test_policy_refuses_a_valid_call_with_its_resolved_tool() -> None:
    def policy(spec: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
        return f"{spec.name} may not add {arguments['a']}." if arguments["a"] == 13 else None

    refused = await call(made(add), '{"a": 13, "b": 1}', name="ADD", policy=policy)
    assert refused == ToolResult("add may not add 13.", "refused")
    assert await call(made(add), '{"a": 1, "b": 1}', policy=policy) == ToolResult("2.0", "ok")


def pay(to: str, amount: int = 5_000, on: datetime.date = datetime.date(2026, 1, 2)) -> str:
    return f"{amount} to {to} on {on:%d.%m.}"


@pytest.mark.parametrize("given", ["", ', "amount": 5000', ', "on": "2026-01-02"'])
async def test_policy_and_people_see_what_the_function_takes_by_itself(given: str) -> None:
    whole = {"to": "ann", "amount": 5_000, "on": "2026-01-02"}
    asked: list[Mapping[str, Any]] = []

    def policy(_spec: ToolSpec, arguments: Mapping[str, Any]) -> RequireApproval:
        asked.append(arguments)
        return RequireApproval("A lot of money.")

    arguments = f'{{"to": "ann"{given}}}'
    held = await call(made(pay), arguments, policy=policy)
    assert isinstance(held, PendingApprovalCall)
    assert (held.arguments, asked) == (whole, [whole])
    assert await call(made(pay), arguments) == ToolResult("5000 to ann on 02.01.", "ok")


async def test_an_agent_s_defaults_win_over_the_function_s_and_the_model_s_over_both() -> None:
    spec = dataclasses.replace(made(pay), defaults={"amount": 7})
    assert await call(spec, '{"to": "ann"}') == ToolResult("7 to ann on 02.01.", "ok")
    assert await call(spec, '{"to": "ann", "amount": 9}') == ToolResult("9 to ann on 02.01.", "ok")


async def test_a_default_need_not_fit_the_schema_that_arguments_have_to() -> None:
    def find(
        limit: Annotated[int, Field(ge=1)] = 0,  # none
        order: Annotated[str, Field(min_length=3)] = "",
    ) -> str:
        return f"{limit} {order!r}"

    assert await call(made(find)) == ToolResult("0 ''", "ok")
    done = await call(made(find), '{"order": ""}')
    assert isinstance(done, ToolResult)
    assert done.status == "invalid"


def assign(
    people: list[str], most: int = 5, *, notify: bool = False, note: str | None = "n"
) -> str:
    """Assign people."""
    return f"{people} {most} {notify} {note}"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (
            '{"people": "[\\"a\\"]", "most": "3", "notify": "True"}',
            {"people": ["a"], "most": 3, "notify": True, "note": "n"},
        ),
        (
            '{"people": ["1"], "most": null, "notify": null, "note": null}',
            {"people": ["1"], "most": 5, "notify": False, "note": None},
        ),
        (
            '"{\\"people\\": [\\"a\\"]}"',
            {"people": ["a"], "most": 5, "notify": False, "note": "n"},
        ),
    ],
    ids=["texts", "null", "encoded twice"],
)
async def test_what_an_argument_plainly_means_is_what_is_approved_and_runs(
    arguments: str, meant: dict[str, Any]
) -> None:
    asked = await call(made(assign), arguments, policy=lambda *_: RequireApproval("asked"))
    assert isinstance(asked, PendingApprovalCall)
    assert asked.arguments == meant
    done = await call(made(assign), arguments)
    assert done == ToolResult(assign(**meant), "ok")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ('{"people": null}', "people: null is not of type array"),
        ('{"people": ["a"], "other": null}', "other is not accepted here"),
        ('{"people": "a", "most": "3"}', "people: 'a' is not of type array"),
        ('{"people": ["a"], "most": "3 or 4"}', "most: '3 or 4' is not of type integer"),
    ],
)
async def test_what_an_argument_could_mean_is_not_guessed(arguments: str, sentence: str) -> None:
    done = await call(made(assign), arguments)
    assert isinstance(done, ToolResult)
    assert (done.status, sentence in done.content) == ("invalid", True)


async def test_null_leaves_the_default_of_a_binding_in_force() -> None:
    bound = dataclasses.replace(made(assign), defaults={"most": 9})
    done = await call(bound, '{"people": ["a"], "most": null}')
    assert done == ToolResult(assign(["a"], 9), "ok")
