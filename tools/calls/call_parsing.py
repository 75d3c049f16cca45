"""Parsing of tool calls: the tool, and arguments that fit it.

Usage::

    found = read(specs, name=call.name, arguments=call.arguments)
    if isinstance(found, ToolResult): ...   # invalid, with sentences that a model can act on
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from heartbit_site.base.coercion import coerce
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.toolspec import Answer, ToolSpec
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.calls import questions
from tools.calls.result import MAX_OUTPUT_BYTES, ToolResult, answer
from tools.definitions.isolation import Isolation
from tools.definitions.registry import resolve
from tools.texts.near_names import closest

MAX_ARGUMENT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A parsed and valid call.

    Attributes:
        arguments: Parsed arguments, coerced and with defaults, as they are shown, digested,
            approved and executed.
        keywords: Keyword arguments of the function, without the context.
    """

    spec: ToolSpec
    arguments: Mapping[str, Any]
    keywords: Mapping[str, Any]


def read(
    specs: Mapping[str, ToolSpec],
    *,
    name: str,
    arguments: str,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    answered: bool = False,
) -> ParsedCall | ToolResult:
    """Return a call's tool and valid arguments, or a ``ToolResult`` (invalid).

    Arguments that do not fit are coerced (``heartbit_site.base.coercion``) if that makes them fit.

    Arguments edited by a person are parsed here too; for a question they include the answer
    (``answered``), which a model must not give. See ``pipeline.prepare``.
    """
    spec = resolve(specs, name)
    if spec is None:
        return answer(_unknown(name, specs), "invalid", max_output_bytes)
    try:
        values = parse_arguments(arguments, spec.parameters)
    except UntrustedJSONError as error:
        text = f"The arguments of {spec.name} could not be parsed. {error} Send one JSON object."
        return answer(text, "invalid", max_output_bytes)
    word = _word(spec, values) if answered else {}
    given, problems = _fitting(spec, values)
    if spec.answer_parameter is not None and not problems:
        problems = questions.problems(given, word.values())
        if answered and not word and not problems:
            problems = [f"'{spec.answer_parameter}' is required and missing"]
    if problems:
        return answer(_invalid(spec, problems), "invalid", max_output_bytes)
    with Isolation() as isolation:
        # The function's own defaults are not added: they need not fit its schema.
        keywords = dict(spec.bind(given) if spec.bind is not None else given)
    if isolation.error is not None:  # a parameter type that the schema cannot express
        return answer(_invalid(spec, [isolation.message]), "invalid", max_output_bytes)
    keywords |= {name: Answer(value) for name, value in word.items()}
    return ParsedCall(spec, {**_own_defaults(spec), **given, **word}, keywords)


def misfit(spec: ToolSpec, arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return why a call with these arguments would be refused, as a sentence; else an empty string.

    Args:
        spec: The tool.
        arguments: Arguments that are stored for a later call.
        defaults: Defaults of the agent's binding.
    """
    bound = replace(spec, defaults={**spec.defaults, **defaults})
    found = read({spec.name: bound}, name=spec.name, arguments=json.dumps(dict(arguments)))
    return " ".join(found.content.split()) if isinstance(found, ToolResult) else ""


def _fitting(spec: ToolSpec, values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with defaults, coerced only if they fit then, and their problems."""
    given = {**spec.defaults, **values}
    problems = validate(spec.parameters, given)
    coerced = coerce(spec.parameters, values) if problems else values
    if coerced == values or not isinstance(coerced, dict):
        return given, problems
    other = {**spec.defaults, **coerced}
    return (given, problems) if validate(spec.parameters, other) else (other, [])


def _word(spec: ToolSpec, values: dict[str, Any]) -> dict[str, Any]:
    """Remove a person's answer from the arguments and return it; empty if there is none."""
    name = spec.answer_parameter
    return {name: values.pop(name)} if name is not None and name in values else {}


def _own_defaults(spec: ToolSpec) -> dict[str, Any]:
    """Return the function's defaults, for rules and for people."""
    return {
        name: schema["default"]
        for name, schema in spec.parameters.get("properties", {}).items()
        if isinstance(schema, dict) and "default" in schema
    }


def parse_arguments(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call; empty text means none.

    Raises:
        UntrustedJSONError: The text is malformed, hostile, too large, or not an object.
    """
    if not text or text.isspace():
        return {}
    values = parse_untrusted_json(text, max_bytes=MAX_ARGUMENT_BYTES)
    if isinstance(values, str):  # some models encode their arguments twice
        values = coerce(parameters, values)
    if not isinstance(values, dict):
        raise UntrustedJSONError("The JSON is not an object.")
    return values


def _unknown(name: str, specs: Mapping[str, ToolSpec]) -> str:
    near = closest(name, specs)
    hint = f"The closest are: {', '.join(near)}." if near else f"There are: {', '.join(specs)}."
    return f"There is no tool {name[:80]!r}. {hint if specs else 'There are no tools.'}"


def _invalid(spec: ToolSpec, problems: list[str]) -> str:
    lines = "\n".join(f"- {problem}" for problem in problems)
    return f"The arguments of {spec.name} are not valid; it was not called.\n{lines}"
