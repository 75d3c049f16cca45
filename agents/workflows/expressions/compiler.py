"""Compiler of expressions: each node of Python's syntax tree becomes a function of a frame."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

from agents.workflows.expressions import operations
from agents.workflows.expressions.errors import OperationError
from agents.workflows.expressions.frame import MAX_INTEGER, Evaluate, Frame
from agents.workflows.expressions.functions import FUNCTIONS
from agents.workflows.expressions.reference import Reference, path_of
from heartbit_site.base.untrusted import clean_text
from tools.texts.near_names import hint

#: Roots that an expression may read.
ROOTS: Final = ("message", "state", "input", "steps", "item", "index")
#: Root of the results of nodes, of which only parts are read.
STEPS: Final = "steps"
_STEP_PATH: Final = 3
_WHOLE_STEPS: Final = "reads steps without a node and a part of it: write steps.NAME.output"
MAX_NODES: Final = 300
MAX_DEPTH: Final = 40

_BINARY: Final[dict[type[ast.operator], Callable[[Frame, Any, Any], Any]]] = {
    ast.Add: operations.add,
    ast.Sub: operations.arithmetic("-", operator.sub),
    ast.Mult: operations.arithmetic("*", operator.mul),
    ast.Div: operations.arithmetic("/", operator.truediv),
    ast.FloorDiv: operations.arithmetic("//", operator.floordiv),
    ast.Mod: operations.arithmetic("%", operator.mod),
}
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Frame, Any, Any], bool]]] = {
    ast.Eq: operations.equal,
    ast.NotEq: lambda frame, left, right: not operations.equal(frame, left, right),
    ast.Lt: operations.less,
    ast.Gt: lambda frame, left, right: operations.less(frame, right, left, ">"),
    ast.LtE: lambda frame, left, right: not operations.less(frame, right, left, "<="),
    ast.GtE: lambda frame, left, right: not operations.less(frame, left, right, ">="),
    ast.In: operations.contains,
    ast.NotIn: lambda frame, left, right: not operations.contains(frame, left, right),
}
_REFUSED: Final = {
    ast.Pow: "the operator **",
    ast.Lambda: "a lambda",
    ast.JoinedStr: "an f-string: write a template with {{ ... }}",
    ast.NamedExpr: "an assignment",
    ast.DictComp: "a comprehension of an object",
    ast.SetComp: "a set",
    ast.Set: "a set",
    ast.Starred: "a star",
}


class Compiler:
    """Compiler of one expression.

    Attributes:
        references: Paths that the expression reads.
        size: Number of compiled nodes.
    """

    def __init__(self, roots: Sequence[str] = ROOTS) -> None:
        self.references: set[Reference] = set()
        self._roots = roots
        self.size = 0
        self._depth = 0
        self._variables: list[str] = []

    def compile(self, node: ast.expr) -> Evaluate:
        """Return a node as a function.

        Raises:
            OperationError: The node is refused, or the expression is too large.
        """
        self.size += 1
        if self.size > MAX_NODES:
            raise OperationError(f"has more than {MAX_NODES} parts: use a function")
        method = _METHODS.get(type(node))
        if method is None:
            raise OperationError(f"has {_REFUSED.get(type(node), type(node).__name__)}")
        if path := self._path(node):
            return path
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise OperationError(f"is nested more than {MAX_DEPTH} levels deep")
        compiled = method(self, node)
        self._depth -= 1
        return compiled

    def _constant(self, node: ast.Constant) -> Evaluate:
        value = node.value
        if value is not None and not isinstance(value, bool | int | float | str):
            raise OperationError(f"has a value that JSON cannot represent: {value!r:.40}")
        if isinstance(value, str) and clean_text(value) != value:
            raise OperationError(f"has a text with a character that JSON refuses: {value!r:.40}")
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise OperationError("has a whole number of more than 64 bits")
        if isinstance(value, float):
            operations.bounded(value)
        return lambda frame: value

    def _name(self, node: ast.Name) -> Evaluate:
        name = node.id
        if name not in self._variables:
            known = (*self._roots, *FUNCTIONS)
            raise OperationError(f'reads "{name}", which is unknown; {hint(name, known)}')
        return lambda frame: frame.variables[name]

    def _attribute(self, node: ast.Attribute) -> Evaluate:
        key = node.attr
        if key.startswith("__"):
            raise OperationError(f'reads "{key}": names that begin with __ are refused')
        value = self.compile(node.value)
        return lambda frame: operations.read_key(value(frame), key)

    def _subscript(self, node: ast.Subscript) -> Evaluate:
        if isinstance(node.slice, ast.Slice):
            return self._part(node.value, node.slice)
        value, index = self.compile(node.value), self.compile(node.slice)
        return lambda frame: operations.read_item(value(frame), index(frame))

    def _path(self, node: ast.expr) -> Evaluate | None:
        """Return a path of constant keys from a root, recorded as one reference."""
        path = path_of(node)
        if path is None or path[0] in self._variables or path[0] not in self._roots:
            return None
        if path[0] == STEPS and len(path) < _STEP_PATH:
            raise OperationError(_WHOLE_STEPS)
        self.references.add(path)
        self.size += len(path) - 1
        return lambda frame: reduce(operations.read_item, path, frame.roots)

    def _part(self, node: ast.expr, bounds: ast.Slice) -> Evaluate:
        if bounds.step is not None:
            raise OperationError("takes a part with a step")
        value = self.compile(node)
        none = ast.Constant(None)
        start, stop = self.compile(bounds.lower or none), self.compile(bounds.upper or none)
        return lambda frame: operations.read_slice(frame, value(frame), start(frame), stop(frame))

    def _both(self, node: ast.BoolOp) -> Evaluate:
        *first, last = [self.compile(value) for value in node.values]
        stops_at = isinstance(node.op, ast.Or)

        def evaluate(frame: Frame) -> Any:
            for part in first:
                value = part(frame)
                if bool(value) is stops_at:
                    return value
            return last(frame)

        return evaluate

    def _unary(self, node: ast.UnaryOp) -> Evaluate:
        value = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda frame: not value(frame)
        if isinstance(node.op, ast.USub):
            negate = _BINARY[ast.Sub]
            return lambda frame: negate(frame, 0, value(frame))
        raise OperationError("has an operator on bits, or a plus sign: leave it out")

    def _binary(self, node: ast.BinOp) -> Evaluate:
        operate = _BINARY.get(type(node.op))
        if operate is None:
            raise OperationError(f"has {_REFUSED.get(type(node.op), 'an operator on bits')}")
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: operate(frame, left(frame), right(frame))

    def _compare(self, node: ast.Compare) -> Evaluate:
        left = self.compile(node.left)
        pairs = [
            (self._comparison(op, right), self.compile(right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]

        def evaluate(frame: Frame) -> bool:
            value = left(frame)
            for compare, part in pairs:
                other = part(frame)
                if not compare(frame, value, other):
                    return False
                value = other
            return True

        return evaluate

    def _comparison(self, op: ast.cmpop, right: ast.expr) -> Callable[[Frame, Any, Any], bool]:
        if isinstance(op, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise OperationError('compares with "is": write ==, or `is None` for null')
            is_wanted = isinstance(op, ast.Is)
            return lambda frame, value, _: (value is None) is is_wanted
        return _COMPARISONS[type(op)]

    def _choice(self, node: ast.IfExp) -> Evaluate:
        test, body, orelse = map(self.compile, (node.test, node.body, node.orelse))
        return lambda frame: body(frame) if test(frame) else orelse(frame)

    def _list(self, node: ast.List | ast.Tuple) -> Evaluate:
        parts = [self.compile(entry) for entry in node.elts]
        return lambda frame: [part(frame) for part in parts]

    def _object(self, node: ast.Dict) -> Evaluate:
        parts: list[tuple[str, Evaluate]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                raise OperationError("has an object with a key that is no plain text")
            self._constant(key)
            parts.append((key.value, self.compile(value)))
        return lambda frame: {key: part(frame) for key, part in parts}

    def _call(self, node: ast.Call) -> Evaluate:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise OperationError(
                "calls a method, or with named arguments: write get(message, 'kind')"
            )
        name = node.func.id
        if name not in FUNCTIONS:
            raise OperationError(f'calls "{name}", which is unknown; {hint(name, FUNCTIONS)}')
        function, least, most = FUNCTIONS[name]
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise OperationError(f"calls {name}() with {len(node.args)} arguments, not {wanted}")
        arguments = [self.compile(argument) for argument in node.args]

        def evaluate(frame: Frame) -> Any:
            frame.spend(1)
            return function(frame, *[argument(frame) for argument in arguments])

        return evaluate

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Evaluate:
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise OperationError("has a comprehension of more than one list, or into a pattern")
        [loop] = node.generators
        name = node.generators[0].target.id
        if name in self._roots or name in FUNCTIONS or name in self._variables:
            raise OperationError(f'uses "{name}" as a variable: choose a name of its own')
        source, before = self.compile(loop.iter), self.size
        self._variables.append(name)
        tests = [self.compile(test) for test in loop.ifs]
        body = self.compile(node.elt)
        self._variables.pop()
        units = 1 + self.size - before

        def evaluate(frame: Frame) -> list[Any]:
            found = []
            for value in operations.entries(frame, source(frame)):
                frame.spend(units)
                frame.variables[name] = value
                if all(test(frame) for test in tests):
                    found.append(body(frame))
            return found

        return evaluate


_METHODS: Final[dict[type[ast.expr], Callable[[Compiler, Any], Evaluate]]] = {
    ast.Constant: Compiler._constant,
    ast.Name: Compiler._name,
    ast.Attribute: Compiler._attribute,
    ast.Subscript: Compiler._subscript,
    ast.BoolOp: Compiler._both,
    ast.UnaryOp: Compiler._unary,
    ast.BinOp: Compiler._binary,
    ast.Compare: Compiler._compare,
    ast.IfExp: Compiler._choice,
    ast.List: Compiler._list,
    ast.Tuple: Compiler._list,
    ast.Dict: Compiler._object,
    ast.Call: Compiler._call,
    ast.ListComp: Compiler._comprehension,
    ast.GeneratorExp: Compiler._comprehension,
}
