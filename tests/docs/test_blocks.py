"""Code blocks of the documents: each TOML file is valid, each Python import succeeds."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse
from tests.docs.commands import PAGES, ROOT

if TYPE_CHECKING:
    from pathlib import Path

AGENT: Final = '[[agents]]\nname = "a"\ndescription = "d"\nsystem_prompt = "p"\n'
#: What is refused here alone: the page's reader has these tools and programs.
READERS_OWN: Final = re.compile(
    r'names the unknown tool "(choose_offer|find_customer|forecast|get_order|refund|transfer)"'
    r"|not a program of HEARTBIT_MCP_COMMANDS"
)
READERS_APPS: Final = ("shop.", "tests.")


def blocks(language: str) -> list[Any]:
    """Each block of a language, named by its page and line."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return [
        pytest.param(block[1], id=f"{_name(page)}:{text.count(chr(10), 0, block.start()) + 2}")
        for page in PAGES
        for text in [page.read_text()]
        for block in pattern.finditer(text)
    ]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("text", blocks("toml"))
def test_a_file_is_in_order(text: str) -> None:
    """A line of an agent's settings alone is one of some agent."""
    try:
        parse(text if text.lstrip("# \n").startswith("[") or "\n[" in text else AGENT + text)
    except ConfigFileError as error:
        assert [line for line in error.lines if not READERS_OWN.search(line)] == []


@pytest.mark.parametrize("text", blocks("python"))
def test_a_program_imports_what_there_is(text: str) -> None:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for node in ast.walk(compile(text, "page", "exec", flags)):
        if isinstance(node, ast.Import):
            for name in node.names:
                importlib.import_module(name.name)
        elif (
            isinstance(node, ast.ImportFrom)
            and node.module
            and not node.module.startswith(READERS_APPS)
        ):
            module = importlib.import_module(node.module)
            for name in node.names:
                full = f"{node.module}.{name.name}"
                is_here = name.name == "*" or hasattr(module, name.name)
                assert is_here or importlib.util.find_spec(full), full
