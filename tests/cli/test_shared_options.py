"""Options that commands share: --config and --workspace, and which commands have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.core import TyperGroup

from agents.models import Run
from heartbit_site.base.models import ApiKey
from heartbit_site.cli.main import COMMANDS, load
from heartbit_site.cli.options.shared import ChangeHereCommand
from heartbit_site.cli.terminal.errors import CANNOT_START, USAGE
from heartbit_site.first_start import default_workspace
from tests.api.server import WebServer, key_for
from tests.cli.places import NOWHERE
from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command, Ended

#: Commands without --url that change nothing, and those that are or end processes of this machine.
HARMLESS = {
    *("runs", "runs export", "agents", "keys", "schedules", "channels", "fleet"),
    *("conversations", "artifacts", "drive", "workspaces", "members", "grants", "budgets"),
    *("provider-accounts", "webhooks", "deliveries", "prices", "chat-apps", "collections", "state"),
    "workflows",
    *(
        "tools",
        "mcp",
        "memory",
        "knowledge",
        "skills",
        "credentials",
        "users",
        "audit",
    ),
    *("config", "config check", "doctor", "completion"),
    *("serve", "web", "beat", "up", "down", "backup"),
}
#: Commands that read a configuration file although they never talk to a server.
READERS = {"run", "workflows run", "config check", "config import", "doctor"}


def commands() -> Iterator[tuple[str, Any]]:
    """Each command with its name."""
    for name in COMMANDS:
        command = load(name)
        yield name, command
        if isinstance(command, TyperGroup):
            for child, found in command.commands.items():
                yield f"{name} {child}", found


def options(command: Any) -> set[str]:
    return {option for made in command.params for option in made.opts}


def test_each_command_that_reads_a_configuration_file_can_be_given_one() -> None:
    found = {name: options(command) for name, command in commands()}
    assert found.keys() >= READERS
    for name, known in found.items():
        assert ("--config" in known) == ("--url" in known or name in READERS), name


def test_each_command_without_url_is_harmless_or_says_where_it_acts() -> None:
    without = {name: command for name, command in commands() if "--url" not in options(command)}
    says = {name for name, command in commands() if isinstance(command, ChangeHereCommand)}
    assert without.keys() - says == HARMLESS
    assert says <= without.keys()


@pytest.mark.parametrize("url", ["https://heartbit.example", ""])
def test_a_change_here_is_announced_while_a_server_is_named(
    heartbit: Command, database: None, url: str
) -> None:
    ended = heartbit("runs", "archive", "--dry-run", "--json", env={"HEARTBIT_URL": url})
    assert ended.code == 0
    sentence = "`heartbit runs archive` works in this installation only: HEARTBIT_URL is not used."
    assert (sentence in ended.err) is bool(url)


@pytest.mark.parametrize("named", ["HEARTBIT_CONFIG", "heartbit.toml"])
def test_a_change_here_is_announced_while_a_file_names_a_server(
    heartbit: Command, database: None, tmp_path: Path, named: str
) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text('[server]\nurl = "https://heartbit.example"\n')
    env = {"HEARTBIT_URL": "", "HEARTBIT_CONFIG": str(file) if named == "HEARTBIT_CONFIG" else ""}
    command = ("runs", "archive", "--dry-run")
    ended = heartbit(*command, env=env, cwd=tmp_path if named == "heartbit.toml" else ROOT)
    assert ended.code == 0, ended.err
    shown = named if named == "heartbit.toml" else file
    assert (
        f"`heartbit {' '.join(command[:2])}` works in this installation only: "
        f"[server] url of {shown} is not used."
    ) in ended.err


def test_a_file_that_cannot_be_read_stops_no_command_that_needs_none(
    heartbit: Command, database: None, tmp_path: Path
) -> None:
    env = {"HEARTBIT_CONFIG": str(tmp_path / "none.toml")}
    ended = heartbit("runs", "archive", "--dry-run", env=env)
    assert (ended.code, "none.toml" in ended.err) == (0, False)


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
    for command in (("status",), ("schedules", "list"), ("config", "check"), ("doctor",)):
        ended = heartbit(*command, "--config", str(tmp_path / "none.toml"))
        assert (ended.code, ended.err.count("\n")) == (CANNOT_START, 1), command
        assert "none.toml does not exist" in ended.err


def test_doctor_checks_the_named_file(heartbit: Command, database: None, tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text("[orchestratr]\n")
    checks = heartbit("doctor", "--config", str(file), "--json").json["checks"]
    [found] = [check for check in checks if check["name"] == "configuration"]
    assert (found["status"], f"{file}:1:" in found["detail"]) == ("fail", True)


def test_a_file_is_named_once(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('[[agents]]\nname = "a"\ndescription = "A."\nsystem_prompt = "Be brief."\n')
    assert heartbit("config", "check", "--config", str(file)).code == 0
    assert heartbit("config", "check", str(file), "--config", str(file)).code == 0
    assert heartbit("config", "check", str(file), "--config", "b.toml").code == USAGE


@pytest.mark.parametrize("through", ["option", "variable"])
def test_commands_work_in_the_workspace_that_is_named(
    heartbit: Command, workspace: Workspace, through: str
) -> None:
    slug = workspace.slug
    extra = ("--workspace", slug) if through == "option" else ()
    env = {"HEARTBIT_WORKSPACE": slug if through == "variable" else "no-such"}

    def command(*arguments: str) -> Ended:
        ended = heartbit(*arguments, *extra, env=env)
        assert ended.code == 0, ended.err
        return ended

    run_id = command("submit", "x", "--agent", "writer").out.strip()
    assert Run.objects.get(pk=run_id).workspace == workspace
    assert [run["id"] for run in command("status", "--json").json["runs"]] == [run_id]
    command("schedules", "add", "A", "--task", "x", "--cron", "0 9 * * *")
    assert workspace.schedules.filter(name="A").exists()
    made = command("keys", "create", "k", "--scope", "runs:read", "--json").json
    assert ApiKey.objects.get(prefix=made["prefix"].removeprefix("hb_")).workspace == workspace
    command("agents", "stop", "writer")
    assert not workspace.agents.get(name="writer").enabled
    assert default_workspace().agents.get(name="writer", origin="").enabled
    cancelled = heartbit("cancel", run_id)  # in the default one there is no such run
    assert cancelled.code == USAGE


def test_an_unknown_workspace_is_one_sentence_with_what_was_meant(
    heartbit: Command, workspace: Workspace
) -> None:
    wrong = f"{workspace.slug}x"
    for arguments in (["status"], ["agents"], ["config", "export"], ["run", "x"], ["usage"]):
        ended = heartbit(*arguments, "--workspace", wrong)
        assert (ended.code, ended.err.count("\n"), ended.out) == (USAGE, 1, ""), arguments
        assert f"{workspace.slug}?" in ended.err
    halted = heartbit("fleet", "halt", wrong)
    assert (halted.code, halted.err.count("\n")) == (USAGE, 1)
    assert f"{workspace.slug}?" in halted.err


def test_at_a_server_the_key_decides(
    heartbit: Command, site: WebServer, workspace: Workspace
) -> None:
    env = {
        **NOWHERE,
        "HEARTBIT_URL": site.url,
        "HEARTBIT_API_KEY": key_for(workspace),
        "HEARTBIT_WORKSPACE": "default",
    }
    refused = heartbit("agents", "status", "--workspace", workspace.slug, env=env)
    assert (refused.code, refused.err.count("\n"), refused.out) == (CANNOT_START, 1, "")
    assert "the API key decides the workspace" in refused.err
    assert heartbit("agents", "status", "--json", env=env).code == 0


def test_commands_of_the_whole_installation_take_no_workspace() -> None:
    found = {name: options(command) for name, command in commands()}
    whole = ("serve", "up", "doctor", "fleet restart", "audit verify", "users list")
    for name in whole:
        assert "--workspace" not in found[name], name
    for name in ("run", "resume", "runs archive", "config import", "keys list", "users create"):
        assert "--workspace" in found[name], name
