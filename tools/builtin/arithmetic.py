"""Arithmetic for models: a closed set of Python's syntax, never ``eval``.

For any text ``evaluate`` returns a number or raises ``CalculationError`` within milliseconds: the
text is short, whole numbers stay below ``_MAX_BITS``, and every operation that could grow faster is
refused before it is carried out.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Annotated, TypeAlias

from pydantic import Field

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, tool

Number: TypeAlias = int | float

MAX_CHARACTERS = 500
_MAX_DEPTH = 60
_MAX_BITS = 4_096
_MAX_FACTORIAL = 400
_MAX_DIGITS = 100

# A letter right after a number is refused, because Python's tokenizer warns of some ("1if"), and a
# warning may be an error or reach standard error.
_TOKENS = re.compile(
    r"(?:\s+|[-+*/%^(),]|[A-Za-z_]\w*|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))*",
    re.ASCII,
)


class CalculationError(HeartbitError):
    """The expression is not supported arithmetic, or has no result."""


@tool(effect=Effect.PURE, timeout_seconds=5, tags=("builtin",), labels=())
def calculate(
    expression: Annotated[
        str,
        Field(
            description="For example (1250 * 1.19) / 12, 2 ** 10, sqrt(2) or round(10 / 3, 2).",
            max_length=MAX_CHARACTERS,
        ),
    ],
) -> str:
    """Work out an arithmetic expression exactly; use this instead of calculating yourself.

    Operators: + - * / // % ** and parentheses. Functions: abs, round, floor, ceil, min, max, sum,
    sqrt, exp, log (natural, or log(x, base)), log2, log10, sin, cos, tan, asin, acos, atan, atan2,
    hypot, degrees, radians, factorial, gcd. Constants: pi, e, tau. Write powers as 2 ** 3,
    percentages as * 0.05.
    """
    value = evaluate(expression)
    return str(value) if isinstance(value, int) else format(value, ".15g")


def evaluate(text: str) -> Number:
    """Return the value of an arithmetic expression.

    Raises:
        CalculationError: The text is not arithmetic, too large, or undefined (such as a division by
            zero).
    """
    if len(text) > MAX_CHARACTERS:
        raise CalculationError(f"The expression has more than {MAX_CHARACTERS} characters.")
    rest = _TOKENS.sub("", text, count=1)
    if rest:
        raise CalculationError(f"The expression is not arithmetic from {rest[:20]!r} on.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _bounded(_value(tree.body, _MAX_DEPTH))
    except CalculationError:
        raise
    except SyntaxError as error:
        raise CalculationError(f"The expression cannot be read: {error.msg}.") from None
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise CalculationError(f"The expression has no result: {error}.") from None


def _value(node: ast.expr, depth: int) -> Number:
    if depth == 0:
        raise CalculationError("The expression is nested too deeply.")
    match node:
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.Constant(value):
            raise CalculationError(f"{str(value)[:40]!r} is not a number.")
        case ast.Name(name):
            return _named(name)
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, depth - 1)
        case ast.UnaryOp(ast.UAdd(), operand):
            return _value(operand, depth - 1)
        case ast.UnaryOp():
            raise CalculationError("Only + and - may stand before a number.")
        case ast.BinOp():
            return _binary(node, depth - 1)
        case ast.Call():
            return _call(node, depth - 1)
    raise CalculationError(f"The expression uses {type(node).__name__}: only arithmetic works.")


def _named(name: str) -> Number:
    if name not in _CONSTANTS:
        known = ", ".join(_CONSTANTS)
        raise CalculationError(f"{name[:40]!r} is not a number; known names are {known}.")
    return _CONSTANTS[name]


def _binary(node: ast.BinOp, depth: int) -> Number:
    operation = _OPERATIONS.get(type(node.op))
    if operation is None:
        hint = "; write powers as **" if isinstance(node.op, ast.BitXor) else ""
        raise CalculationError(f"The operator {type(node.op).__name__} is not known here{hint}.")
    return _bounded(operation(_value(node.left, depth), _value(node.right, depth)))


def _call(node: ast.Call, depth: int) -> Number:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or node.keywords:
        raise CalculationError(f"There is no such function; known are {', '.join(_FUNCTIONS)}.")
    return _bounded(_FUNCTIONS[name](*(_value(argument, depth) for argument in node.args)))


def _bounded(value: object) -> Number:
    """Return the value if it is a real number of limited size."""
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise CalculationError("A number in the expression is too large.")
        return value
    if not isinstance(value, float):
        raise CalculationError("The expression has no real result.")
    if not math.isfinite(value):
        raise CalculationError("A number in the expression is too large.")
    return value


def _power(base: Number, exponent: Number) -> object:
    # Sized before it is computed: 9**9**9 has 370 million digits.
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and (int(base).bit_length() - 1) * abs(exponent) > _MAX_BITS:
        raise CalculationError("The power is too large.")
    return base**exponent


def _round(value: Number, digits: Number = 0) -> Number:
    # round(1, -10**9) computes 10**(10**9).
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:
        raise CalculationError(f"round takes a whole number of digits, at most {_MAX_DIGITS}.")
    return round(value, digits) if digits else round(value)


def _factorial(value: Number) -> int:
    if not isinstance(value, int) or not 0 <= value <= _MAX_FACTORIAL:
        raise CalculationError(f"factorial takes a whole number from 0 to {_MAX_FACTORIAL}.")
    return math.factorial(value)


def _sum(*values: Number) -> Number:
    return sum(values)


_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}
_FROM_MATH = (
    *("floor", "ceil", "sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "atan2", "hypot", "degrees", "radians", "gcd"),
)
_OPERATIONS: dict[type[ast.operator], Callable[[Number, Number], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sum": _sum,
    "factorial": _factorial,
    **{name: getattr(math, name) for name in _FROM_MATH},
}
