"""Options that commands share: --config, and which commands have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.core import TyperGroup

from heartbit_site.cli.errors import CANNOT_START, USAGE
from heartbit_site.cli.main import command_tree
from heartbit_site.first_start import default_workspace
from tests.api.server import WebServer, key_for
from tests.cli.test_remote import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Command

#: Commands that read a configuration file although they never talk to a server.
READERS = {"run", "config check", "config import"}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Each command's name and options."""
    yield " ".join(path), {option for made in command.params for option in made.opts}
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))


def test_each_command_that_reads_a_configuration_file_can_be_given_one() -> None:
    found = dict(commands(command_tree()))
    assert found.keys() >= READERS
    for name, options in found.items():
        assert ("--config" in options) == ("--url" in options or name in READERS), name


@pytest.mark.parametrize("command", [("status",), ("schedules",), ("agents", "status")])
def test_the_server_of_the_named_file_is_asked(
    heartbit: Command, site: WebServer, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "team.toml"
    file.write_text(f'[server]\nurl = "{site.url}"\n')
    env = {**NOWHERE, "HEARTBIT_API_KEY": key_for(default_workspace()), "HEARTBIT_CONFIG": ""}
    ended = heartbit(*command, "--config", str(file), "--json", env=env)
    assert (ended.code, ended.err) == (0, "")
    assert isinstance(ended.json, list | dict)


def test_a_file_that_is_not_there_is_refused(heartbit: Command, tmp_path: Path) -> None:
    for command in (("status",), ("schedules", "list"), ("config", "check")):
        ended = heartbit(*command, "--config", str(tmp_path / "none.toml"))
        assert (ended.code, ended.err.count("\n")) == (CANNOT_START, 1), command
        assert "none.toml does not exist" in ended.err


def test_a_file_is_named_once(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("")
    assert heartbit("config", "check", "--config", str(file)).code == 0
    assert heartbit("config", "check", str(file), "--config", str(file)).code == 0
    assert heartbit("config", "check", str(file), "--config", "b.toml").code == USAGE
