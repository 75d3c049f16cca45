"""Templates: texts and data with expressions in double braces.

A text that is one expression has the value of the expression; otherwise the values are written into
the text: texts unchanged, null as nothing, other values as JSON::

    compile_template("{{ input.urls }}").evaluate(roots)             # a list
    compile_template("Facts on {{ input.topic }}").evaluate(roots)   # a text
    compile_template({"to": "{{ input.to }}"}).evaluate(roots)       # an object
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from agents.workflows.expressions.errors import ExpressionError, OperationError, shown
from agents.workflows.expressions.expression import Expression, compile_expression
from agents.workflows.expressions.frame import Frame
from agents.workflows.expressions.functions import to_text

MAX_CHARACTERS: Final = 100_000
MAX_EXPRESSIONS: Final = 200
_MAX_DEPTH: Final = 20
_OPEN: Final = "{{"
_CLOSE: Final = "}}"
_Render = Callable[[Frame], Any]


#: A template is evaluated as an expression is.
Template = Expression


def compile_template(source: Any) -> Template:
    """Compile a text, or data whose texts are templates.

    Raises:
        ExpressionError: An expression is refused, braces stay open, or the template is too large.
    """
    compiler = _TemplateCompiler()
    render = compiler.compile(source, 0)
    subject = f"The template {shown(source)}" if isinstance(source, str) else "The template"
    path = compiler.expressions[0].path if compiler.is_single else None
    references = frozenset().union(*(one.references for one in compiler.expressions))
    return Template(subject, references, path, render)


class _TemplateCompiler:
    def __init__(self) -> None:
        self.expressions: list[Expression] = []
        self.is_single = False

    def compile(self, source: Any, depth: int) -> _Render:
        if depth > _MAX_DEPTH:
            raise ExpressionError(f"The template is nested more than {_MAX_DEPTH} levels deep.")
        if isinstance(source, str):
            return self._text(source, is_whole=depth == 0)
        if isinstance(source, dict):
            parts = {key: self.compile(value, depth + 1) for key, value in source.items()}
            return lambda frame: {key: part(frame) for key, part in parts.items()}
        if isinstance(source, list | tuple):
            entries = [self.compile(value, depth + 1) for value in source]
            return lambda frame: [entry(frame) for entry in entries]
        return lambda frame: source

    def _text(self, text: str, *, is_whole: bool) -> _Render:
        if _OPEN not in text:
            return lambda frame: text
        try:
            parts: list[str | Expression] = list(_split(text))
            self.expressions += [part for part in parts if isinstance(part, Expression)]
            if len(self.expressions) > MAX_EXPRESSIONS:
                raise OperationError(f"has more than {MAX_EXPRESSIONS} expressions")
        except OperationError as error:
            raise ExpressionError(f"The template {shown(text)} {error}.") from None
        if len(parts) == 1 and isinstance(parts[0], Expression):
            self.is_single = is_whole
            return parts[0].evaluate_in
        return lambda frame: _written(frame, parts)


def _written(frame: Frame, parts: list[str | Expression]) -> str:
    values = [part if isinstance(part, str) else part.evaluate_in(frame) for part in parts]
    texts = [to_text(frame, value) for value in values]
    frame.spend_text(sum(map(len, texts)))
    return "".join(texts)


def _split(text: str) -> Iterator[str | Expression]:
    """Yield the texts and the expressions of a template, in order."""
    if len(text) > MAX_CHARACTERS:
        most = f"at most {MAX_CHARACTERS} are accepted"
        raise OperationError(f"has {len(text)} characters: {most}")
    position = 0
    while (start := text.find(_OPEN, position)) >= 0:
        if start > position:
            yield text[position:start]
        end = _end_of(text, start + len(_OPEN))
        yield compile_expression(text[start + len(_OPEN) : end].strip())
        position = end + len(_CLOSE)
    if position < len(text):
        yield text[position:]


def _end_of(text: str, start: int) -> int:
    """Return the position of the braces that close an expression, in one pass over it."""
    quote, depth, position = "", 0, start
    while position < len(text):
        character = text[position]
        if quote:
            position += character == "\\"  # the next character is escaped
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif text.startswith(_CLOSE, position):
            return position
        position += 1
    raise OperationError("opens {{ and never closes it with }}")
