"""Labelled questions over the documentation that Django ships: its docstrings.

The first sentence of a docstring is the question, and the rest of it the text that answers. The
label is exact, but the sentence is a summary rather than a question, and the text was not written
to be recalled: what counts is how rankings compare.
"""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import django

_PARTS: Final = re.compile(r"(.{20,200}?[.:])\s+(?=[A-Z])(.{80,1500})")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the one text that answers it.

    Attributes:
        held_out: True if it may not be looked at while weights are tuned: half of all, by a hash.
    """

    text: str
    answer: str
    held_out: bool


def load_questions() -> list[Question]:
    """Return them in the same order each time."""
    found: dict[str, str] = {}
    for path in sorted(Path(django.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                words = " ".join((ast.get_docstring(node) or "").split())
                parts = _PARTS.fullmatch(words)
                if parts is not None:
                    found.setdefault(parts[2], parts[1])
    return [
        Question(text, answer, hashlib.sha256(answer.encode()).digest()[0] % 2 == 1)
        for answer, text in sorted(found.items())
    ]
