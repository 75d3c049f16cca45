"""Errors of expressions: refused text, and values that an expression cannot be applied to."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.errors import ConfigurationError, HeartbitError

_SHOWN: Final = 80


class ExpressionError(ConfigurationError):
    """The text of an expression or a template is refused."""


class EvaluationError(HeartbitError):
    """An expression cannot be evaluated with the values that it was given."""


class OperationError(Exception):
    """One operation of an expression fails; ``str(error)`` is the end of a sentence about it."""


def shown(text: str) -> str:
    """Return the text of an expression as a sentence shows it: in quotes, cut if it is long."""
    return f'"{cut(text)}"'


def cut(text: str, characters: int = _SHOWN) -> str:
    """Return the beginning of a text that may be too long for a sentence."""
    return text if len(text) <= characters else f"{text[:characters]}..."
