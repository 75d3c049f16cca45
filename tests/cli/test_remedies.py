"""What an error at a terminal tells a person to do."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from heartbit_site.api.mount import api
from heartbit_site.cli.errors import USAGE
from heartbit_site.cli.remedies import COMMANDS, for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Place

ADDRESS = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /[\w/.{}-]*\w")
#: Nothing that a command asks for is refused with these.
OF_PROGRAMS = {
    "GET /runs/{}/artifacts",
    "GET /runs/{}/blackboard",
    "GET /webhooks/{}/deliveries",
    "POST /conversations",
}


def sentences() -> Iterator[str]:
    """The texts of errors, with ``{}`` where a value comes."""
    for folder in ("agents", "memory", "tools", "heartbit_site/operations", "heartbit_site/base"):
        for path in Path(folder).rglob("*.py"):
            for raised in ast.walk(ast.parse(path.read_text())):
                if not isinstance(raised, (ast.Raise, ast.Assign)):
                    continue
                for node in ast.walk(raised):
                    if isinstance(node, ast.JoinedStr):
                        values = (getattr(part, "value", None) for part in node.values)
                        yield "".join(one if isinstance(one, str) else "{}" for one in values)
                    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value


def test_every_address_in_an_error_has_a_command() -> None:
    named = {
        re.sub(r"\{\w*\}", "{}", address)
        for sentence in sentences()
        for address in ADDRESS.findall(sentence)
    }
    assert "GET /agents" in named
    known = {re.sub(r"\{\w*\}", "{}", address) for address in COMMANDS}
    assert named - known - OF_PROGRAMS == set()


def test_every_address_with_a_command_is_one_of_the_api() -> None:
    paths = api.get_openapi_schema(path_prefix="")["paths"]
    known = {f"{method.upper()} {path}" for path, one in paths.items() for method in one}
    assert COMMANDS.keys() <= known


def test_a_sentence_names_the_command() -> None:
    said = "Somebody changed it meanwhile. GET /agents/solo shows it."
    assert for_terminal(said) == (
        "Somebody changed it meanwhile. `heartbit agents show solo` shows it."
    )
    assert for_terminal("GET /nothing/at/all") == "GET /nothing/at/all"


def test_an_error_of_a_server_names_the_command_too(place: Place) -> None:
    done = place("inbox", "researcher", str(UUID(int=7)))
    assert done.code == USAGE
    assert done.err.endswith(": `heartbit inbox AGENT --json` lists the ids.\n")
