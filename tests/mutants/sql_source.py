"""Mutants of SQL functions: turned conditions, dropped negations, shifted limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.mutants.mutant import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What is looked for, and what stands there instead.
OPERATORS: Final = (
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bNOT EXISTS\b", "EXISTS"),
    (r"(?<=AND )NOT (?!EXISTS|NULL)", ""),
    (r"(?<=IF )NOT (?!EXISTS)", ""),
    (r" <> ", " = "),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r"\bleast\(", "greatest("),
    (r"\bgreatest\(", "least("),
    (r"(?<=\+ )1\b", "2"),
    (r"(?<=- )1\b", "2"),
    (r"\bRETURN true\b", "RETURN false"),
    (r"\bRETURN false\b", "RETURN true"),
    (r"(?<=\S) OR ", " AND "),
)
#: An equals sign in a condition; elsewhere it may assign.
CONDITION: Final = re.compile(r"(?m)^\s*(?:WHERE|AND|OR|ON|IF|WHEN)\b[^\n]*?( = )")
#: A condition that stands on a line of its own, as most do here.
CONJUNCT: Final = re.compile(r"(?m)^\s*(AND [^\n;()]*(?:\([^()\n]*\)[^\n;()]*)*)$")


def mutants(path: Path, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of a file of functions; comments and texts have none."""
    text = source.decode()
    skipped = [found.span() for found in re.finditer(r"--[^\n]*|'[^']*'", text)]

    def changed(start: int, end: int, replacement: str) -> Iterator[Mutant]:
        if any(first <= start < last for first, last in skipped):
            return
        offset = len(text[:start].encode())
        length = len(text[start:end].encode())
        yield Mutant(path, text.count("\n", 0, start) + 1, offset, offset + length, replacement)

    for pattern, replacement in OPERATORS:
        for found in re.finditer(pattern, text):
            yield from changed(*found.span(), replacement)
    for found in CONDITION.finditer(text):
        yield from changed(*found.span(1), " <> ")
    for found in CONJUNCT.finditer(text):
        yield from changed(*found.span(1), "")
