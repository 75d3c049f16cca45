"""The remedy that an error names: an operation, in the words of each surface."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
import typer.core
from django.test import RequestFactory

from agents.errors import HaltedError
from heartbit_site.api.errors import heartbit_error
from heartbit_site.base.errors import HeartbitError, NotFoundError, Remedy
from heartbit_site.cli.main import load
from heartbit_site.cli.terminal.errors import USAGE, for_terminal
from heartbit_site.contract.operation import find_operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Place

PACKAGES = ("agents", "memory", "tools", "scheduling", "heartbit_site")


def remedies() -> Iterator[tuple[str, frozenset[str]]]:
    """The operation that each remedy in the code names, and the parameters that it fills in."""
    for path in (path for package in PACKAGES for path in Path(package).rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Remedy(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy":
                if path.name == "client.py":  # what a server names
                    continue
                assert isinstance(node.args[0], ast.Constant), f"{path}: name the operation itself"
                given = [one for one in ast.walk(node) if isinstance(one, ast.Dict)]
                keys = [key for one in given for key in one.keys]
                values = frozenset(str(ast.literal_eval(key)) for key in keys if key is not None)
                yield str(node.args[0].value), values


def parameters(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


NAMED = sorted(set(remedies()), key=str)


def test_remedies_are_found() -> None:
    assert len(NAMED) > 10


@pytest.mark.parametrize(("name", "values"), NAMED, ids=[name for name, _ in NAMED])
def test_every_remedy_is_an_operation_and_fills_in_its_path(
    name: str, values: frozenset[str]
) -> None:
    operation = find_operation(name)
    assert operation is not None
    assert parameters(operation.path) == values


@pytest.mark.parametrize("name", sorted({name for name, _ in NAMED}))
def test_the_command_of_a_remedy_exists(name: str) -> None:
    operation = find_operation(name)
    assert operation is not None
    assert parameters(operation.command) <= parameters(operation.path)
    if not operation.command.startswith("`"):
        return  # none, or a page
    first, name, *words = operation.command.strip("`").split()
    assert first == "heartbit"
    found: Any = load(name)
    for word in words:
        if isinstance(found, typer.core.TyperGroup) and not word.startswith(("{", "-")):
            found = found.commands[word]


def in_the_api(error: HeartbitError) -> dict[str, Any]:
    response = heartbit_error(RequestFactory().get("/api/v1/agents"), error)
    found: dict[str, Any] = json.loads(response.content)
    return found


def test_each_surface_names_the_operation_in_its_own_words() -> None:
    remedy = Remedy("agents.show_agent", "shows it", {"name": "solo"})
    error = NotFoundError("It was changed meanwhile.", remedy=remedy)
    assert str(error) == "It was changed meanwhile."
    assert for_terminal(error) == (
        "It was changed meanwhile: `heartbit agents show solo` shows it."
    )
    answer = in_the_api(error)
    assert answer["detail"] == "It was changed meanwhile."
    assert answer["remedy"] == {
        "operation": "agents.show_agent",
        "request": "GET /agents/solo",
        "effect": "shows it",
        "values": {"name": "solo"},
    }


def test_an_operation_without_a_command_is_left_out_at_a_terminal() -> None:
    remedy = Remedy("pauses.resume_workspace", "resumes it for a manager")
    error = HaltedError("The workspace was stopped.", remedy=remedy)
    assert for_terminal(error) == "The workspace was stopped."
    assert in_the_api(error)["remedy"]["request"] == "POST /workspace/resume"


def test_an_operation_that_only_a_newer_server_has_is_left_out() -> None:
    for name in ("agents.of_tomorrow", "tomorrow.list_days", "../main.x", ""):
        assert find_operation(name) is None
        assert for_terminal(NotFoundError("None.", remedy=Remedy(name))) == "None."
    left_out = Remedy("agents.show_agent", "shows it")
    assert for_terminal(NotFoundError("None.", remedy=left_out)).endswith(" shows it.")


def test_an_error_of_a_server_names_the_command_too(place: Place) -> None:
    done = place("inbox", "researcher", str(UUID(int=7)))
    assert done.code == USAGE
    assert done.err.endswith(": `heartbit inbox AGENT --json` lists the ids.\n")
