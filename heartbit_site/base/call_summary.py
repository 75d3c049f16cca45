"""Sentence about one call of a tool, from the template that the tool declares. Pure.

Usage::

    check_summary("Refund {amount} EUR", spec.parameters, tool="refund")
    summarize("Refund {amount} EUR", {"amount": 12.5})   # Refund 12.5 EUR

A placeholder is a parameter's name in braces; ``{{`` is a brace. The values come from a model, so a
summary is untrusted text: surfaces show it as plain text, beside the arguments and never for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.visible_text import visible

MOST_TEMPLATE: Final = 300  # characters
MOST_SUMMARY: Final = 240
_MOST_VALUE: Final = 80
_ABSENT: Final = "(not given)"
_CUT: Final = "…"


def check_summary(template: str, parameters: Mapping[str, Any], *, tool: str) -> None:
    """Check that a summary can be rendered from a tool's arguments.

    Raises:
        ConfigurationError: The text is too long or not one line, a brace is open, or a placeholder
            is no parameter.
    """
    if len(template) > MOST_TEMPLATE or not template.isprintable():
        raise ConfigurationError(
            f"The summary of tool {tool!r} is not one line of at most {MOST_TEMPLATE} visible "
            "characters: shorten it."
        )
    known = list(parameters.get("properties") or ())
    try:
        names = [name for _, name in _pieces(template) if name is not None]
    except ValueError as error:
        raise ConfigurationError(
            f"The summary of tool {tool!r} cannot be read ({error}): write a parameter as "
            "{name}, and a brace as {{ or }}."
        ) from error
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"The summary of tool {tool!r} names {{{name}}}, which is no parameter: "
                + (f"use {', '.join(f'{{{one}}}' for one in known)}." if known else "it has none.")
            )


def summarize(template: str, arguments: Mapping[str, Any]) -> str:
    """Return the summary of a call on one line, cut, with hidden characters as escapes.

    Args:
        template: The tool's summary; empty: the call has none.
        arguments: The call's arguments.
    """
    text = "".join(
        visible(literal) + ("" if name is None else _value(arguments, name))
        for literal, name in _pieces(template)
    )
    return _cut(text, MOST_SUMMARY)


def _pieces(template: str) -> Iterator[tuple[str, str | None]]:
    """Yield each literal text with the placeholder behind it; None: there is none.

    Raises:
        ValueError: A brace is open, or a placeholder has a format.
    """
    for literal, name, form, conversion in Formatter().parse(template):
        if form or conversion:
            raise ValueError("a placeholder has a format")
        yield literal, name


def _value(arguments: Mapping[str, Any], name: str) -> str:
    return _text(arguments[name]) if arguments.get(name) not in (None, "") else _ABSENT


def _text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    # Long values are cut before they are escaped: a megabyte costs no time.
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(visible(" ".join(text[: 2 * _MOST_VALUE].split())), _MOST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + _CUT
