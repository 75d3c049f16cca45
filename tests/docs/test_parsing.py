"""Every `heartbit` command that a page names has these arguments and options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import typer
import typer.main

from heartbit_site.base import variables
from heartbit_site.cli.main import app, with_command
from heartbit_site.cli.terminal.output import INVOCATION
from tests.docs.commands import PAGES, ROOT, blocks_of, spans_of

if TYPE_CHECKING:
    from pathlib import Path

#: What is missing, or a word in the place of a number: a sentence names commands in general.
IN_GENERAL = ("BadOptionUsage", "BadParameter", "MissingParameter")


def refusal(words: tuple[str, ...]) -> Exception | None:
    """Return what the command line says against it, without running anything."""
    found: Any = typer.main.get_command(app)
    arguments, context = with_command(list(words[1:])), None
    try:
        while True:
            context = found.make_context(found.name, arguments, parent=context)
            arguments = [*context._protected_args, *context.args]
            if not hasattr(found, "resolve_command") or not arguments:
                return None
            _, found, arguments = found.resolve_command(context, arguments)
    except typer.Exit:
        return None
    except typer.TyperException as error:
        return error


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what the shared options told this process."""
    for name, value in vars(INVOCATION).items():
        monkeypatch.setattr(INVOCATION, name, value)
    for variable in (variables.CONFIG, variables.WORKSPACE):
        monkeypatch.setenv(variable.name, os.environ.get(variable.name, ""))
        if not os.environ[variable.name]:
            monkeypatch.delenv(variable.name)


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_command_line_knows_what_a_page_names(page: Path) -> None:
    for typed in (*blocks_of(page), *spans_of(page)):
        if typed.words[:1] == ("heartbit",):
            error = refusal(typed.words)
            assert error is None or type(error).__name__ in IN_GENERAL, f"{typed.line}: {typed}"
