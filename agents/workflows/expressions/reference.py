"""References of expressions: paths of constant keys, by which data is read and messages refer."""

from __future__ import annotations

import ast
from typing import TypeAlias

#: Path of data that an expression reads, beginning with its root: ``("state", "rounds")``.
Reference: TypeAlias = tuple[str | int, ...]


def path_of(node: ast.expr) -> Reference | None:
    """Return a path of constant keys from a name; None: the node is no such path."""
    keys: list[str | int] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
            keys.append(node.attr)
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str | int)
            and not isinstance(node.slice.value, bool)
        ):
            keys.append(node.slice.value)
        else:
            return None
        node = node.value
    return (node.id, *reversed(keys))
