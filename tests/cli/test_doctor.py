from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.models import Agent, AgentVersion
from heartbit_site.base.models import ProviderAccount
from heartbit_site.cli import doctor, doctor_models, doctor_work
from heartbit_site.embedded.state import StateDirectory
from heartbit_site.environment import read
from heartbit_site.first_start import DEFAULT_WORKSPACE
from tests.accounts.provider_server import models, provider_server
from tests.command import NO_MODEL

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import Worker


@pytest.fixture
def alone(database: None) -> None:
    """What other tests left in the installation does not count."""
    ProviderAccount.objects.update(enabled=False)
    Agent.objects.exclude(workspace__slug=DEFAULT_WORKSPACE).update(enabled=False)


def test_a_sound_installation(alone: None, heartbit: Command, worker: Worker) -> None:
    with provider_server(models("gpt-6-sol")) as provider:
        ended = heartbit("doctor", "--json", env={"OPENAI_BASE_URL": provider.url})
    assert ended.code == 0, ended.out
    assert ended.json["ok"] is True
    checks = {check["name"]: check for check in reversed(ended.json["checks"])}
    assert checks["keys"]["detail"] == "OPENAI_API_KEY"
    assert "HEARTBIT_STATE_DIR" in checks["environment"]["detail"].removeprefix("set: ").split(", ")
    assert str(worker.pid) in checks["workers"]["detail"]
    assert checks["provider openai"]["detail"].startswith("It takes the key and lists ")
    assert {name for name, check in checks.items() if check["status"] == "ok"} >= {
        *("state directory", "embedded", "postgres", "migrations", "valkey", "direct database"),
        *("workers", "broker", "key files", "agents", "provider openai"),
    }


def test_the_server_that_stands_in_for_a_model_is_sound_too(alone: None, heartbit: Command) -> None:
    ended = heartbit("doctor", "--json")
    checks = {check["name"]: check for check in ended.json["checks"]}
    assert checks["provider openai"]["detail"] == "It takes the key and lists 1 model."


def test_a_mistyped_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBIT_HTTP_ALLOWLIST", "127.0.0.1:80")
    monkeypatch.setenv("HEARTBIT_HTTP_ALLOW", "127.0.0.1:80")
    [found] = [one for one in doctor._unknown_variables() if "HEARTBIT_HTTP_ALLOW " in one.detail]
    assert (found.status, "HEARTBIT_HTTP_ALLOWLIST" in found.fix) == ("warn", True)


def test_each_problem_comes_with_its_mend(alone: None, heartbit: Command) -> None:
    env = {"REDIS_URL": "redis://127.0.0.1:9/0", "HEARTBIT_PROVIDER": "opnai", **NO_MODEL}
    ended = heartbit("doctor", env=env)
    assert (ended.code, ended.err) == (1, "")
    assert "fail  valkey" in ended.out
    assert "Check REDIS_URL" in ended.out
    assert "fail  default model" in ended.out
    assert "warn  keys" in ended.out


def test_keys_that_others_can_read_fail(tmp_path: Path) -> None:
    environment = dataclasses.replace(read(), state=StateDirectory(tmp_path))
    assert doctor._keys(environment).status == "ok"
    (tmp_path / "secret_key").write_text("x")
    (tmp_path / "secret_key").chmod(0o644)
    check = doctor._keys(environment)
    assert (check.status, "mode 0644" in check.detail) == ("fail", True)
    assert f"chmod 600 {tmp_path / 'secret_key'}" in check.fix


def test_a_configuration_file_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: None
) -> None:
    monkeypatch.chdir(tmp_path)
    look = doctor_work._configuration
    assert look() == []
    Path("heartbit.toml").write_text("[orchestratr]\n")
    [check] = look()
    assert (check.status, "heartbit.toml:1:" in check.detail) == ("fail", True)


def test_a_workspace_that_is_named_and_does_not_exist_fails(
    heartbit: Command, alone: None, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = heartbit("doctor", "--json", env={"HEARTBIT_WORKSPACE": "nope"})
    assert (ended.code, ended.err) == (1, "")
    [check] = [check for check in ended.json["checks"] if check["status"] == "fail"]
    assert check["name"] == "workspace"
    assert check["detail"].startswith("There is no workspace 'nope': ")
    assert "HEARTBIT_WORKSPACE" in check["fix"]
    monkeypatch.setenv("HEARTBIT_WORKSPACE", workspace.slug)
    checks = [check for look in doctor_work.LOOKS for check in look()]
    [found] = [check for check in checks if check.name == "workspace"]
    assert (found.status, found.detail) == ("ok", workspace.slug)


def test_an_account_whose_key_cannot_be_read_fails(workspace: Workspace) -> None:
    account = ProviderAccount.objects.create(
        workspace=workspace, provider="openai", secret="v1:0123456789abcdef:AAAA"
    )
    try:
        checks = doctor_models.LOOKS[-1]()
    finally:
        account.delete()
    [check] = [check for check in checks if workspace.slug in check.fix]
    assert (check.name, check.status) == ("account openai", "fail")
    assert "enter it" in check.detail


def test_agents_whose_tools_changed_are_named(workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="analyst")
    version = agent.current_version
    assert version is not None
    content = {**version.snapshot, "tools": [{**version.snapshot["tools"][0], "hash": "other"}]}
    changed = AgentVersion.objects.create(agent=agent, number=99, hash="x" * 64, snapshot=content)
    Agent.objects.filter(pk=agent.pk).update(current_version=changed)
    try:
        checks = [check for look in doctor_work.LOOKS for check in look()]
    finally:
        Agent.objects.filter(pk=agent.pk).update(current_version=version)
    [check] = [check for check in checks if check.name == "agents"]
    assert check.status == "warn"
    assert "analyst (" in check.detail
