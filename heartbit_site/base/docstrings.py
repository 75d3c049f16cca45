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

from docstring_parser import (
    Docstring,
    DocstringMeta,
    DocstringParam,
    DocstringRaises,
    DocstringReturns,
    ParseError,
    parse,
)


def read(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the docstring without its parameters, and the description of each parameter."""
    text = inspect.cleandoc(docstring)
    try:
        found = parse(text)
    except ParseError:  # not sections, although it looks like them
        return text, {}
    if not found.params:
        return text, {}
    said = {one.arg_name: " ".join((one.description or "").split()) for one in found.params}
    return _without_parameters(found), said


def _without_parameters(found: Docstring) -> str:
    others = [one for one in found.meta if not isinstance(one, DocstringParam)]
    sections = [_section(heading, entries) for heading, entries in groupby(others, _heading)]
    return "\n\n".join(filter(None, [(found.description or "").strip(), *sections]))


def _section(heading: str, entries: Iterable[DocstringMeta]) -> str:
    lines = "\n".join(map(_entry, entries))
    return f"{heading}:\n{indent(lines, '    ')}"


def _heading(one: DocstringMeta) -> str:
    return one.args[0].capitalize()


def _entry(one: DocstringMeta) -> str:
    kind = one.type_name if isinstance(one, DocstringReturns | DocstringRaises) else None
    return ": ".join(filter(None, [kind, one.description]))
