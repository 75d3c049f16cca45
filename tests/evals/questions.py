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
        module: Module whose docstring it is, such as ``django.utils.text``.
        name: Name of the function or class there.
        held_out: True if it may not be looked at while weights are tuned: half of all, by a hash.
    """

    text: str
    answer: str
    module: str
    name: str
    held_out: bool


def load_questions() -> list[Question]:
    """Return them in the same order each time."""
    found: dict[str, tuple[str, str, str]] = {}
    package = Path(django.__file__).parent
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                words = " ".join((ast.get_docstring(node) or "").split())
                parts = _PARTS.fullmatch(words)
                if parts is not None:
                    found.setdefault(parts[2], (parts[1], module, node.name))
    return [
        Question(text, answer, module, name, held_out=is_held_out(answer))
        for answer, (text, module, name) in sorted(found.items())
    ]


def is_held_out(label: str) -> bool:
    """Return True for half of all labels, the same ones each time."""
    return hashlib.sha256(label.encode()).digest()[0] % 2 == 1
