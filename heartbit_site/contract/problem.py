"""Problem details: the error response of every operation, and pydantic's errors as one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from heartbit_site.base.view import View


class RemedyOut(View):
    """An operation that helps to fix the problem."""

    operation: str = Field(description="Tag and operationId, such as agents.list_agents.")
    request: str = Field(description="Method and path, such as GET /agents.")
    effect: str = Field(description="Effect of the operation, as a predicate such as: lists them.")
    values: dict[str, str] = Field(description="The parameters of the path.")


class ProblemOut(View):
    """An error (RFC 9457)."""

    type: str = Field(description="URI of the type of problem: urn:heartbit:problem:CODE.")
    title: str = Field(description="Title of the type.")
    status: int = Field(description="The response's status.")
    detail: str = Field(description="One sentence for people: the problem and its remedy.")
    code: str = Field(description="Code for programs, such as agent_not_found.")
    scope: str | None = Field(
        default=None, description="With the code forbidden: the missing scope, if any."
    )
    remedy: RemedyOut | None = Field(
        default=None, description="Operation that helps; omitted if none is known."
    )


_PLACES = {"body", "query", "path", "header", "cookie"}
_SHOWN_CHARACTERS = 80


def fault(problems: Sequence[Any]) -> str:
    """Return pydantic's errors about a request as one sentence about one of them.

    An unknown field precedes a missing one: it is often the same field, misspelt.
    """
    unknown = [one for one in problems if one["type"] == "extra_forbidden"]
    return sentence((unknown or problems)[0])


def sentence(problem: Any) -> str:
    """Return one of pydantic's errors for a person: the field, and the expected value.

    Names are untrusted, so they are cut; values are never repeated.
    """
    # ("body", "start", "task"): the place, the view's parameter, then the field.
    location = [str(step) for step in problem["loc"]]
    place = location[0] if location and location[0] in _PLACES else "body"
    steps = location[2:] if place == "body" else location[1:]
    name = ".".join(steps)[:_SHOWN_CHARACTERS]
    message = str(problem["msg"]).removeprefix("Value error, ").rstrip(".")
    if not name:
        if problem["type"] == "missing":
            return "The body is missing: send a JSON object."
        return f"The body is not right: {_uncapitalised(message)}."
    where = "field" if place == "body" else {"query": "parameter"}.get(place, place)
    if problem["type"] == "missing":
        return f"The {where} {name} is missing."
    if problem["type"] == "extra_forbidden":
        return f"There is no {where} {name}: /api/v1/docs lists them."
    end = "" if message.endswith("?") else "."
    return f"The {where} {name} is not right: {_uncapitalised(message)}{end}"


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]
