"""Candidate values for an answer that does not fit its schema because of a common mistake.

``agents.output.check`` uses the first candidate that fits, and only if the plain value does not; so
a repair can never change a correct answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents.output.fences import fenced
from agents.output.respond import NAME, VALUE
from heartbit_site.base.coercion import coerce
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json

_WRAPPERS = (VALUE, "arguments", NAME)
_MAX_STEPS = 4  # a fence in a string in a wrapper
_DOCUMENT = re.compile(r'\s*(?:[\[{"]|```|~~~)')


def candidate_values(
    schema: Mapping[str, Any], plain: JSONValue, *, is_wrapped: bool
) -> Iterator[JSONValue]:
    """Yield other interpretations of an answer, the most literal first.

    Args:
        schema: Schema of the answer; decides which strings represent other types.
        plain: Answer as parsed.
        is_wrapped: True if the actual answer is in the property ``value``.
    """
    values = [plain]
    for _ in range(_MAX_STEPS):
        values += _inside(values[-1])
    yield from values
    yield from (coerce(schema, value) for value in values)
    if is_wrapped:
        bare: list[JSONValue] = [{VALUE: value} for value in values]
        yield from bare
        yield from (coerce(schema, value) for value in bare)


def document(text: str) -> JSONValue:
    """Return the JSON document in a text or in its only fenced block; empty text means {}.

    Raises:
        UntrustedJSONError: The text contains no such document.
    """
    if not text or text.isspace():
        return {}
    try:
        return parse_untrusted_json(text)
    except UntrustedJSONError:
        blocks = fenced(text)
        if len(blocks) != 1:
            raise
        return parse_untrusted_json(blocks[0].content)


def _inside(value: JSONValue) -> list[JSONValue]:
    """Return the value that a wrapper contains, as a list; empty if it is not a wrapper."""
    if isinstance(value, str) and _DOCUMENT.match(value):
        try:
            return [document(value)]
        except UntrustedJSONError:
            return []
    if not isinstance(value, dict):
        return []
    if len(value) == 1:
        return [value[name] for name in _WRAPPERS if name in value]
    if value.keys() == {"name", "arguments"} and value["name"] == NAME:
        return [value["arguments"]]
    return []
