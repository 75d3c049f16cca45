"""The error of a request, as one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
