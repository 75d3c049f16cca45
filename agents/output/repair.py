"""Other readings of an answer that does not fit its schema: small mistakes that models make.

Nothing here decides. ``agents.output.check`` takes the first reading that fits, and only where the
plain one does not; so a repair can never change an answer that was right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agents.output.coercion import coerced
from agents.output.fences import fenced
from agents.output.respond import NAME, VALUE
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WRAPPERS = (VALUE, "arguments", NAME)
_MAX_STEPS = 4  # a fence in a string in a wrapper
_DOCUMENT = re.compile(r'\s*(?:[\[{"]|```|~~~)')


def candidate_values(
    schema: Mapping[str, Any], plain: JSONValue, *, is_wrapped: bool
) -> Iterator[JSONValue]:
    """What else an answer may mean, the most literal first, the unlikeliest last.

    Args:
        schema: What the answer should fit: decides which texts stand for other types.
        plain: The answer as it was read.
        is_wrapped: Whether the answer proper is in the property ``value``.
    """
    values = [plain]
    for _ in range(_MAX_STEPS):
        values += _inside(values[-1])
    yield from values
    yield from (coerced(schema, value) for value in values)
    if is_wrapped:
        bare: list[JSONValue] = [{VALUE: value} for value in values]
        yield from bare
        yield from (coerced(schema, value) for value in bare)


def document(text: str) -> JSONValue:
    """The JSON document that a text is, or holds in its only fenced block; empty text means {}.

    Raises:
        UntrustedJSONError: There is none.
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
    """What a value may have been wrapped around, if anything."""
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
