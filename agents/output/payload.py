"""Structured form of a task: action, specification, inputs and constraints.

Usage::

    payload = parse({"action": "review", "spec": "The module billing.", "constraints": ["No SQL"]})
    task = render(payload)          # the text for the model

Execution modes depend on the action; the model reads every field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agents.output.fences import in_fence
from agents.output.text import as_text
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, clean_json

MAX_SPEC_CHARACTERS = 100_000  # as text, or as JSON
MAX_INPUTS_CHARACTERS = 262_144  # as JSON
MAX_CONSTRAINTS = 64
MAX_CONSTRAINT_CHARACTERS = 4_000
_SHOWN_CHARACTERS = 60
_NOTHING: tuple[JsonValue, ...] = (None, "", {}, [])


class PayloadError(HeartbitError):
    """A task payload is not valid; the message names the field."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _usable_spec(spec: JsonValue) -> JsonValue:
    if isinstance(spec, str):
        _not_blank(spec)
    return _not_too_large(spec, MAX_SPEC_CHARACTERS)


def _not_too_large(value: JsonValue, most: int = MAX_INPUTS_CHARACTERS) -> JsonValue:
    is_text = isinstance(value, str)
    size = len(value) if isinstance(value, str) else len(json.dumps(value))
    if size > most:
        what = "characters" if is_text else "characters of JSON"
        raise ValueError(f"is too large: {size} {what}, at most {most}")
    return value


_Constraint = Annotated[
    str, Field(max_length=MAX_CONSTRAINT_CHARACTERS), AfterValidator(_not_blank)
]


class TaskPayload(BaseModel):
    """A task.

    Attributes:
        action: One verb in lower case, such as ``review`` or ``deploy``.
        spec: What is to be done: text that says something, or any other JSON.
        inputs: What the task is about: any JSON.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    action: str = Field(pattern=r"^[a-z][a-z_-]{0,31}\z")
    spec: Annotated[JsonValue, AfterValidator(_usable_spec)]
    inputs: Annotated[JsonValue, AfterValidator(_not_too_large)] = {}
    constraints: Annotated[list[_Constraint], Field(max_length=MAX_CONSTRAINTS)] = []


def parse(value: object) -> TaskPayload:
    """Return the payload in a JSON value, with text that Postgres can store.

    Raises:
        PayloadError: The value is not an object, or a field is missing, unknown, of the wrong type
            or too large.
    """
    if not isinstance(value, Mapping):
        raise PayloadError(
            "A task payload is an object with the fields action, spec, inputs and constraints, not "
            f"a {type(value).__name__}."
        )
    try:
        return TaskPayload.model_validate(clean_json(value))
    except UntrustedJSONError as error:
        raise PayloadError(f"The task payload cannot be stored as JSON: {error}") from error
    except ValidationError as error:
        raise PayloadError(_sentence(error)) from None


def render(payload: TaskPayload) -> str:
    """Return the task as text for a model; equal payloads give equal texts."""
    spec = payload.spec
    parts = [
        f"# Task: {payload.action}",
        spec.strip() if isinstance(spec, str) else in_fence(as_text(spec), "json"),
    ]
    if payload.inputs not in _NOTHING:
        # Sorted, because jsonb does not keep the order of names. A text keeps its quotes.
        parts += ["## Inputs", in_fence(_as_json(payload.inputs), "json")]
    if payload.constraints:
        parts += ["## Constraints", "\n".join(map(_item, payload.constraints))]
    return "\n\n".join(parts)


def _as_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)


def _item(constraint: str) -> str:
    return "- " + "\n  ".join(constraint.strip().splitlines())


def _sentence(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    message = problem["msg"]
    field = _place(problem["loc"])
    match problem["type"]:
        case "missing":
            return f"The task payload needs the field {field}."
        case "extra_forbidden":
            known = ", ".join(TaskPayload.model_fields)
            return f"The task payload has no field {field}: it takes {known}."
        case "string_pattern_mismatch":
            shown = repr(str(problem["input"])[:_SHOWN_CHARACTERS])
            return (
                f"The task payload's {field} is one verb in lower case, such as review, at most 32 "
                f"letters, '_' or '-', not {shown}."
            )
        case "value_error":
            return f"The task payload's {field} {problem['ctx']['error']}."
    return f"The task payload's {field} is not valid: {message[:1].lower()}{message[1:]}."


def _place(location: tuple[Any, ...]) -> str:
    """Return ``('constraints', 3)`` as ``'constraints.3'``; untrusted names are truncated."""
    steps = [str(step)[:_SHOWN_CHARACTERS] for step in location[:3] if step != "[key]"]
    return repr(".".join(steps))
