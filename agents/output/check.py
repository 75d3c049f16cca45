"""Validation of structured answers and of response schemas.

Usage::

    check_response_schema(schema)                  # when the agent is saved
    match parse_answer(schema, call.arguments):
        case ValidAnswer(value): ...
        case InvalidAnswer(problem): ...           # goes back to the model as the call's result
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.output.repair import candidate_values, document
from agents.output.respond import NAME, VALUE, wrapped
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema, depth_of, validate
from heartbit_site.base.schema_references import subschemas
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, clean_json

MAX_SCHEMA_DEPTH = 32  # nested objects and arrays; most providers accept fewer
MAX_SCHEMA_CHARACTERS = 65_536  # sent with every model call
_UNMOVABLE = ("$dynamicRef", "$id", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class ValidAnswer:
    """A JSON value that fits the response schema."""

    value: JSONValue


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """Reason why an answer does not fit, for the model."""

    problem: str


def parse_answer(schema: Mapping[str, Any], arguments_text: str) -> ValidAnswer | InvalidAnswer:
    """Return the answer in the arguments of a call of ``respond.NAME``.

    An answer that fits is used unchanged, otherwise the first fitting candidate of
    ``agents.output.repair``.

    Args:
        schema: The response schema, checked earlier with ``check_response_schema``.
        arguments_text: Arguments as the model wrote them, or an answer in plain text.
    """
    parameters, is_wrapped = wrapped(schema)
    try:
        plain = document(arguments_text)
    except UntrustedJSONError as error:
        text = f"The arguments of {NAME} could not be read. {error} Send one JSON object."
        return InvalidAnswer(text)
    problems = validate(parameters, plain)
    if not problems:
        return ValidAnswer(_answer(plain, is_wrapped=is_wrapped))
    for value in candidate_values(parameters, plain, is_wrapped=is_wrapped):
        if not validate(parameters, value):
            return ValidAnswer(_answer(value, is_wrapped=is_wrapped))
    lines = "\n".join(f"- {problem}" for problem in problems)
    return InvalidAnswer(f"The arguments of {NAME} do not fit its schema.\n{lines}")


def check_response_schema(schema: object) -> None:
    """Raise if a schema cannot be a response schema.

    Raises:
        ConfigurationError: The schema is not a JSON object or not a valid JSON Schema, is too large
            or too deep, or uses keywords that a tool's parameters cannot contain.
    """
    if not isinstance(schema, Mapping):
        raise ConfigurationError(
            "A response schema is a JSON Schema as an object, such as "
            f'{{"type": "string"}}, not a {type(schema).__name__}.'
        )
    try:
        plain = clean_json(schema)
    except UntrustedJSONError as error:
        raise ConfigurationError(f"The response schema is not plain JSON: {error}") from error
    _check_size(plain)
    check_schema(schema)
    parameters, is_wrapped = wrapped(schema)
    if is_wrapped:
        for part in subschemas(schema):
            for name in _UNMOVABLE:
                if name in part:
                    raise ConfigurationError(
                        f"The response schema cannot use {name}: use $defs and $ref instead, or "
                        "make it a plain object."
                    )
        check_schema(parameters)


def _check_size(schema: JSONValue) -> None:
    size = len(json.dumps(schema))
    if size > MAX_SCHEMA_CHARACTERS:
        raise ConfigurationError(
            f"The response schema is too large: {size} characters, at most {MAX_SCHEMA_CHARACTERS}."
        )
    if depth_of(schema) > MAX_SCHEMA_DEPTH:
        raise ConfigurationError(
            "The response schema is nested too deeply: at most "
            f"{MAX_SCHEMA_DEPTH} levels; use $defs."
        )


def _answer(value: JSONValue, *, is_wrapped: bool) -> JSONValue:
    return value[VALUE] if is_wrapped and isinstance(value, dict) else value
