"""Verbs check the rights of their author themselves, so that no new door can forget it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CHECKS = {"require", "admit"}
#: Verbs with an author that check no right, and why.
UNCHECKED = {
    "finish_sign_in": "a person signs in for themselves; the pending sign-in is theirs",
    "publish_again": "the verb that changed the agents has checked",
    "publish_leaders": "the verb that changed the members has checked",
    "record_publication": "writes the entry of a verb that has checked",
    "refuse_reader": "is a check itself",
    "rotate_secrets": "a command of the installation, without a workspace",
}


def verbs() -> dict[str, ast.FunctionDef]:
    """Return the public functions of all actions that take their author."""
    files = [path for app in ROOT.glob("*") for path in app.glob("**/actions/*.py")]
    found = [
        node
        for path in files
        if ".venv" not in path.parts and "tests" not in path.parts
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    return {node.name: node for node in found if takes_actor(node)}


def takes_actor(node: ast.FunctionDef) -> bool:
    given = (*node.args.args, *node.args.kwonlyargs)
    return any(one.arg == "by" and "Actor" in ast.unparse(one.annotation or one) for one in given)


def calls(node: ast.FunctionDef) -> Iterator[str]:
    """Yield the names of the functions that are given the author."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id == "admit" or "by" in {
            name.id for name in ast.walk(call) if isinstance(name, ast.Name)
        }:
            yield call.func.id


def test_every_verb_checks_the_rights_of_its_author_or_says_why_not() -> None:
    found = verbs()
    checked: set[str] = set()
    while more := {
        name
        for name, node in found.items()
        if name not in checked and any(one in CHECKS | checked for one in calls(node))
    }:
        checked |= more

    assert len(found) > 60
    assert sorted(found.keys() - checked) == sorted(UNCHECKED)
