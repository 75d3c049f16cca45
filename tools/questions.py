"""Tools that a person answers: the form of the answer, and how it is read.

A tool with a parameter annotated ``Answer`` is a question. Its call's argument ``form``, if it has
one, is the JSON Schema of the answer; else the answer is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema, fits, validate
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FORM: Final = "form"
TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
REASON: Final = "The agent asks a person."
_MAX_ANSWER_BYTES = 100_000


def form_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the answer that a call asks for."""
    form = arguments.get(FORM)
    return dict(form) if isinstance(form, dict) and form else TEXT


def form_problems(arguments: Mapping[str, Any]) -> list[str]:
    """Why nobody could answer a call with these arguments, in sentences; empty: they could."""
    try:
        check_schema(form_of(arguments))
    except ConfigurationError as error:
        return [f"{FORM}: {error}"]
    return []


def answer_problems(arguments: Mapping[str, Any], answer: object) -> list[str]:
    """What is wrong with an answer, in sentences; empty: it fits its form."""
    return [f"the answer: {problem}" for problem in validate(form_of(arguments), answer)]


def read_answer(arguments: Mapping[str, Any], text: str) -> Any:
    """What somebody means who wrote this: the text itself where that fits the form, else JSON.

    Raises:
        UntrustedJSONError: The answer is to be JSON, and this is none.
    """
    form = form_of(arguments)
    if fits(form, text):
        return text
    try:
        return parse_untrusted_json(text, max_bytes=_MAX_ANSWER_BYTES)
    except UntrustedJSONError as error:
        if form.get("type") == "string" or "enum" in form:
            return text  # the form says what is wrong with it
        raise UntrustedJSONError(f"The answer has to be JSON that fits its form. {error}") from None
