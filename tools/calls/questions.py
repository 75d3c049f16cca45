"""Tools that a person answers: form and parsing of the answer.

A tool with a parameter annotated ``Answer`` is a question. Its call's argument ``form``, if given,
is the JSON Schema of the answer; else the answer is text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema, fits, validate
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

FORM: Final = "form"
TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
REASON: Final = "The agent asks a person."
_MAX_ANSWER_BYTES = 100_000


def form_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of the answer that a call asks for."""
    form = arguments.get(FORM)
    return dict(form) if isinstance(form, dict) and form else TEXT


def problems(arguments: Mapping[str, Any], answers: Iterable[object] = ()) -> list[str]:
    """Return the problems of a question's form, or of answers to it, in sentences."""
    form = form_of(arguments)
    try:
        check_schema(form)
    except ConfigurationError as error:
        return [f"{FORM}: {error}"]
    return [f"the answer: {problem}" for one in answers for problem in validate(form, one)]


def read_answer(arguments: Mapping[str, Any], text: str) -> Any:
    """Return the value of a typed answer: the text itself if it fits the form, else its JSON.

    Raises:
        UntrustedJSONError: The answer must be JSON, and the text is not.
    """
    form = form_of(arguments)
    if fits(form, text):
        return text
    try:
        return parse_untrusted_json(text, max_bytes=_MAX_ANSWER_BYTES)
    except UntrustedJSONError as error:
        if form.get("type") == "string" or "enum" in form:
            return text  # validation against the form explains the problem
        raise UntrustedJSONError(f"The answer must be JSON that fits its form. {error}") from None
