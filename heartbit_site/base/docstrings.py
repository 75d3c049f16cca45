"""Docstrings as text and parameter descriptions; Google, NumPy or reST style.

Usage::

    text, parameters = read(inspect.getdoc(function) or "")
    description_of_city = parameters.get("city", "")
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import groupby
from textwrap import indent

import docstring_parser


def read(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the docstring without its parameters, and the description of each parameter."""
    text = inspect.cleandoc(docstring)
    try:
        found = docstring_parser.parse(text)
    except docstring_parser.ParseError:  # not sections, despite their form
        return text, {}
    if not found.params:
        return text, {}
    said = {one.arg_name: " ".join((one.description or "").split()) for one in found.params}
    return _without_parameters(found), said


def _without_parameters(found: docstring_parser.Docstring) -> str:
    others = [one for one in found.meta if not isinstance(one, docstring_parser.DocstringParam)]
    sections = [_section(heading, entries) for heading, entries in groupby(others, _heading)]
    return "\n\n".join(filter(None, [(found.description or "").strip(), *sections]))


def _section(heading: str, entries: Iterable[docstring_parser.DocstringMeta]) -> str:
    lines = "\n".join(map(_entry, entries))
    return f"{heading}:\n{indent(lines, '    ')}"


def _heading(one: docstring_parser.DocstringMeta) -> str:
    return one.args[0].capitalize()


def _entry(one: docstring_parser.DocstringMeta) -> str:
    # The other sections have only a text.
    kind = getattr(one, "type_name", None)
    return ": ".join(filter(None, [kind, one.description]))
