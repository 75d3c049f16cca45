"""Mutants of Python: turned comparisons and conditions, dropped calls, shifted numbers.

The operators are the classic ones (Offutt et al., "An experimental determination of sufficient
mutant operators", 1996): relational, logical, arithmetic and statement deletion.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from tests.mutants.mutant import Mutant, line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
}
#: Calls whose absence nobody has to notice.
QUIET: Final = ("log", "logger", "_log", "warnings")


#: Methods of querysets that lose one condition each.
QUERIES: Final = ("filter", "exclude", "get", "update")

#: A node, and what stands in its place.
Change = tuple["ast.expr | ast.stmt", str]


def mutants(path: Path, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    starts = line_starts(source)
    for found in _behaviour(ast.parse(source)):
        change = CHANGES.get(type(found), _none)
        for node, replacement in change(found):
            yield Mutant(
                path,
                node.lineno,
                starts[node.lineno - 1] + node.col_offset,
                starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
                replacement,
            )


def _behaviour(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes inside functions, without annotations, defaults and decorators."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                yield from _inside(statement)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr):
        return  # functions are walked on their own; a text's pieces are words
    yield node
    for name, child in ast.iter_fields(node):
        if name != "annotation":
            for each in child if isinstance(child, list) else [child]:
                if isinstance(each, ast.AST):
                    yield from _inside(each)


def _none(_: Any) -> Iterator[Change]:
    return iter(())


def _compare(node: ast.Compare) -> Iterator[Change]:
    first, *others = node.ops
    if other := COMPARISONS.get(type(first)):
        turned = ast.Compare(node.left, [other(), *others], node.comparators)
        yield node, f"({ast.unparse(turned)})"


def _both(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
    yield node, f"({ast.unparse(node.values[0])})"
    yield node, f"({ast.unparse(node.values[-1])})"


def _not(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"


def _sum(node: ast.BinOp) -> Iterator[Change]:
    match node.right:
        case ast.Constant(value=int(number)):
            more = ast.BinOp(node.left, node.op, ast.Constant(number + 1))
            yield node, f"({ast.unparse(more)})"
        case ast.Constant() | ast.JoinedStr():
            return
        case _ if other := ARITHMETIC.get(type(node.op)):
            yield node, f"({ast.unparse(ast.BinOp(node.left, other(), node.right))})"


def _added(node: ast.AugAssign) -> Iterator[Change]:
    yield node, ast.unparse(ast.Assign([node.target], node.value, lineno=node.lineno))


def _flag(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield node, str(not node.value)


def _statement(node: ast.Expr) -> Iterator[Change]:
    called = isinstance(node.value, ast.Call | ast.Await)
    if called and not ast.unparse(node).startswith(tuple(f"{name}." for name in QUIET)):
        yield node, "pass"


def _either(node: ast.IfExp) -> Iterator[Change]:
    yield node, f"({ast.unparse(node.body)})"
    yield node, f"({ast.unparse(node.orelse)})"


def _condition(node: ast.If | ast.While) -> Iterator[Change]:
    """Turn a condition that is no comparison, which would be turned by itself."""
    if isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield node.test, f"not ({ast.unparse(node.test)})"


def _query(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in QUERIES:
        for dropped in node.keywords:
            kept = [keyword for keyword in node.keywords if keyword is not dropped]
            yield node, ast.unparse(ast.Call(node.func, node.args, kept))


CHANGES: Final[dict[type[ast.AST], Callable[[Any], Iterator[Change]]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _both,
    ast.UnaryOp: _not,
    ast.BinOp: _sum,
    ast.AugAssign: _added,
    ast.Constant: _flag,
    ast.Expr: _statement,
    ast.IfExp: _either,
    ast.If: _condition,
    ast.While: _condition,
    ast.Call: _query,
}
