"""Regular expressions of the product, found in its sources."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
_IMPORT = re.compile(r"\b(?:re|regex|fnmatch|glob)\b")
_SEARCHES = {"search", "sub", "subn", "split", "findall", "finditer"}
_FUNCTIONS = {"compile", "match", "fullmatch", *_SEARCHES}


@cache
def sources() -> tuple[tuple[str, ast.Module], ...]:
    """Return the modules of the product that use expressions, by their dotted names."""
    return tuple(_sources())


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            if "migrations" not in path.parts and _IMPORT.search(text):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                yield module.removesuffix(".__init__"), ast.parse(text)


def _is_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _FUNCTIONS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def inline(module: str, tree: ast.Module) -> set[str]:
    """Return ``module:function`` of each call of ``re`` that no name of the module holds."""
    kept = {node for value in _compiled(tree).values() for node in ast.walk(value)}
    calls = {node for node in ast.walk(tree) if _is_call(node)} - kept
    places = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            within = calls.intersection(ast.walk(function))
            places |= {f"{module}:{function.name}" for _ in within}
            kept |= within
    return places | {f"{module}:" for _ in calls - kept}


def imports_otherwise(tree: ast.Module) -> bool:
    """Return True if a module imports names of ``re``, or ``re`` by another name, or ``regex``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex", "fnmatch", "glob"):
            return True
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name in ("regex", "fnmatch") or (name.name == "re" and name.asname):
                    return True
    return False


def named(tree: ast.Module) -> list[str]:
    """Return the names of a module that patterns are compiled into."""
    return list(_compiled(tree))


def _compiled(tree: ast.Module) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None and any(map(_is_call, ast.walk(value))):
            found |= {target.id: value for target in targets if isinstance(target, ast.Name)}
    return found


def methods_of(name: str, tree: ast.Module) -> list[str]:
    """Return how a module uses a pattern: ``fullmatch``, ``match`` or ``finditer``, or all."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _names(node.value, name):
            found.add(node.attr)
    used = {method for method in found if method in ("match", "fullmatch")}
    if found & _SEARCHES or not used or _is_stepped(name, tree):
        used.add("finditer")
    return sorted(used)


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _is_stepped(name: str, tree: ast.Module) -> bool:
    """Return True if ``match`` gets a position: the caller goes through the text with it."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("match", "fullmatch")
        and _names(node.func.value, name)
        and len(node.args) > 1
        for node in ast.walk(tree)
    )


def patterns(value: object) -> list[re.Pattern[Any]]:
    """Return the patterns of a value: itself, or those in a container."""
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        return [found for pair in value.items() for part in pair for found in patterns(part)]
    if isinstance(value, list | tuple | set | frozenset):
        return [found for part in value for found in patterns(part)]
    return []
