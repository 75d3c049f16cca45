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

MAX_SPEC_CHARACTERS = 100_000
MAX_INPUTS = 64
MAX_INPUT_NAME_CHARACTERS = 128
MAX_INPUTS_CHARACTERS = 262_144  # as JSON
MAX_CONSTRAINTS = 64
MAX_CONSTRAINT_CHARACTERS = 4_000
_SHOWN_CHARACTERS = 60


class PayloadError(HeartbitError):
    """A task payload is not valid; the message names the field."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _not_too_large(inputs: dict[str, JsonValue]) -> dict[str, JsonValue]:
    size = len(json.dumps(inputs))
    if size > MAX_INPUTS_CHARACTERS:
        raise ValueError(
            f"is too large: {size} characters of JSON, at most {MAX_INPUTS_CHARACTERS}"
        )
    return inputs


_Name = Annotated[str, Field(max_length=MAX_INPUT_NAME_CHARACTERS), AfterValidator(_not_blank)]
_Constraint = Annotated[
    str, Field(max_length=MAX_CONSTRAINT_CHARACTERS), AfterValidator(_not_blank)
]


class TaskPayload(BaseModel):
    """A task.

    Attributes:
        action: One verb in lower case, such as ``review`` or ``deploy``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    action: str = Field(pattern=r"^[a-z][a-z_-]{0,31}\z")
    spec: Annotated[str, Field(max_length=MAX_SPEC_CHARACTERS), AfterValidator(_not_blank)]
    inputs: Annotated[
        dict[_Name, JsonValue], Field(max_length=MAX_INPUTS), AfterValidator(_not_too_large)
    ] = {}
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
    parts = [f"# Task: {payload.action}", payload.spec.strip()]
    if payload.inputs:
        # Sorted, because jsonb does not keep the order of names.
        parts += ["## Inputs", in_fence(as_text(dict(payload.inputs)), "json")]
    if payload.constraints:
        parts += ["## Constraints", "\n".join(map(_item, payload.constraints))]
    return "\n\n".join(parts)


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
