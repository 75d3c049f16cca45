"""Expressions of conditions and templates: a small subset of Python's, over data alone.

Usage::

    condition = compile_expression("message.score >= 0.8 and state.rounds < 5")
    condition.references  # {("message", "score"), ("state", "rounds")}
    condition.evaluate({"message": {"score": 0.9}, "state": {"rounds": 1}})  # True

There are comparisons, arithmetic, ``and``, ``or``, ``not``, ``x if y else z``, list comprehensions,
literals, and the functions of ``functions.py``. A dot reads a key of an object: no attribute of a
Python object can be reached. A missing key is an error; ``get(message, "kind")`` accepts it. Text,
depth, work and results are bounded, so that hostile text is refused or answered in milliseconds.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from agents.workflows.expressions.compiler import ROOTS, Compiler
from agents.workflows.expressions.errors import (
    EvaluationError,
    ExpressionError,
    OperationError,
    shown,
)
from agents.workflows.expressions.frame import MAX_PARTS, Evaluate, Frame, weigh
from agents.workflows.expressions.reference import Reference, path_of

MAX_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression or template.

    Attributes:
        subject: Subject of sentences about it.
        references: Paths of the data that it reads.
        path: The path, if the whole expression is one.
    """

    subject: str
    references: frozenset[Reference]
    path: Reference | None
    _evaluate: Evaluate

    def evaluate(self, roots: Mapping[str, Any]) -> Any:
        """Return the value of the expression.

        Args:
            roots: Values by root name.

        Raises:
            EvaluationError: The values do not fit, or the result would be too large.
        """
        return self.evaluate_in(Frame(roots))

    def evaluate_in(self, frame: Frame) -> Any:
        """Return the value of the expression, sharing a frame's budget with others.

        Raises:
            EvaluationError: As for ``evaluate``.
        """
        try:
            value = self._evaluate(frame)
            if self.path is None:
                weigh(value, MAX_PARTS)
        except OperationError as error:
            raise EvaluationError(f"{self.subject} {error}.") from None
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            problem = f"fails with {type(error).__name__}: {str(error)[:80]}"
            raise EvaluationError(f"{self.subject} {problem}.") from None
        return value


@lru_cache(maxsize=512)
def compile_expression(text: str, roots: tuple[str, ...] = ROOTS) -> Expression:
    """Compile an expression; equal texts share one.

    Args:
        text: The expression.
        roots: Names that it may read; those of a workflow by default.

    Raises:
        ExpressionError: The text is no expression of the subset, or it is too large.
    """
    subject, compiler = f"The expression {shown(text)}", Compiler(roots)
    try:
        tree = _parse(text)
        evaluate = compiler.compile(tree)
    except OperationError as error:
        raise ExpressionError(f"{subject} {error}.") from None
    path, references = path_of(tree), frozenset(compiler.references)
    return Expression(subject, references, path if path in references else None, evaluate)


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        most = f"at most {MAX_CHARACTERS} are accepted"
        raise OperationError(f"has {len(text)} characters: {most}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise OperationError(f"cannot be read: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError):
        problem = "it is nested too deeply, or has a character that is not accepted"
        raise OperationError(f"cannot be read: {problem}") from None
