from __future__ import annotations

import base64
import dataclasses
import os
import secrets as secrets_of_python
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.actions.webhooks import save_webhook
from agents.models import Agent, AgentVersion, Channel, ChatApp, WebhookEndpoint
from heartbit_site.base import secrets
from heartbit_site.base.actions.rotate_secrets import secret_columns
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Membership, ProviderAccount, Role, Workspace
from heartbit_site.cli.doctor import examine as doctor
from heartbit_site.cli.doctor import models as doctor_models
from heartbit_site.cli.doctor import work as doctor_work
from heartbit_site.cli.doctor.examine import check_keys, check_unknown_variables
from heartbit_site.embedded.state import StateDirectory
from heartbit_site.environment import read
from heartbit_site.first_start import DEFAULT_WORKSPACE
from scheduling.models import Schedule
from tests.accounts.provider_server import models, provider_server
from tests.command import NO_MODEL
from tests.starts import start_run
from tests.tools.connectors.smtp_server import smtp_server

if TYPE_CHECKING:
    from tests.command import Command
    from tests.fleet import Worker


@pytest.fixture
def alone(database: None) -> None:
    """What other tests left in the installation does not count."""
    ProviderAccount.objects.update(enabled=False)
    Agent.objects.exclude(workspace__slug=DEFAULT_WORKSPACE).update(enabled=False)
    Channel.objects.update(enabled=False)
    ChatApp.objects.update(enabled=False)
    Schedule.objects.update(enabled=False)
    Workspace.objects.update(default_model="")
    for model, column in secret_columns():
        for prefix in secrets.prefixes():
            unreadable = model._default_manager.exclude(**{f"{column}__startswith": prefix})
            unreadable.update(**{column: ""})


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
        *("workers", "broker", "key files", "agents", "provider openai", "disk", "default model"),
    }


def test_runs_in_a_queue_without_workers_are_a_problem(
    alone: None, heartbit: Command, worker: Worker, workspace: Workspace
) -> None:
    queue = f"doctor-{secrets_of_python.token_hex(4)}"
    Agent.objects.filter(workspace=workspace).update(queue=queue)
    start_run(workspace, "Wait.", agent="writer")
    checks = heartbit("doctor", "--json").json["checks"]
    [found] = [check for check in checks if queue in check["detail"]]
    assert (found["name"], found["status"]) == ("fleet", "warn")
    said = f"No worker serves the queue {queue}: `heartbit serve --queues {queue}` starts one."
    assert said in found["detail"]


def test_the_server_that_stands_in_for_a_model_is_sound_too(alone: None, heartbit: Command) -> None:
    ended = heartbit("doctor", "--json")
    checks = {check["name"]: check for check in ended.json["checks"]}
    assert checks["provider openai"]["detail"] == "It takes the key and lists 1 model."


def test_a_mistyped_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBIT_HTTP_ALLOWLIST", "127.0.0.1:80")
    monkeypatch.setenv("HEARTBIT_HTTP_ALLOW", "127.0.0.1:80")
    [found] = [one for one in check_unknown_variables() if "HEARTBIT_HTTP_ALLOW " in one.detail]
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
    assert check_keys(environment).status == "ok"
    (tmp_path / "secret_key").write_text("x")
    (tmp_path / "secret_key").chmod(0o644)
    check = check_keys(environment)
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


def failures(heartbit: Command, **env: str) -> dict[str, tuple[str, str]]:
    ended = heartbit("doctor", "--json", env=env)
    failed = [check for check in ended.json["checks"] if check["status"] == "fail"]
    assert ended.code == bool(failed)
    return {check["name"]: (check["detail"], check["fix"]) for check in failed}


def test_keys_that_do_not_fit_the_stored_secrets_fail(
    alone: None, heartbit: Command, workspace: Workspace
) -> None:
    webhook = WebhookEndpoint(workspace=workspace, name="w", url="https://example.org/hook")
    webhook.events = ["run.failed"]
    save_webhook(webhook, by=SYSTEM)
    assert "encryption keys" not in failures(heartbit)
    other = base64.b64encode(os.urandom(32)).decode()
    detail, fix = failures(heartbit, HEARTBIT_ENCRYPTION_KEYS=other)["encryption keys"]
    assert "of webhooks" in detail
    assert "HEARTBIT_ENCRYPTION_KEYS" in fix


@pytest.mark.parametrize(
    ("blocks", "files", "status"),
    [
        (3_000_000, 9999, "ok"),
        (100_000, 9999, "warn"),
        (9_000, 9999, "fail"),
        (3_000_000, 9, "fail"),
    ],
)
def test_a_disk_that_is_nearly_full_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, blocks: int, files: int, status: str
) -> None:
    # Block size, number and free ones; number of files and how many more fit.
    full = os.statvfs_result((4096, 4096, blocks, blocks, blocks, 99_999, files, files, 0, 255))
    monkeypatch.setattr("os.statvfs", lambda _: full)
    check = doctor.check_disks(tmp_path)
    assert (check.status, str(tmp_path) in check.detail) == (status, True)
    assert bool(check.fix) == (status != "ok")


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_mail_server_that_does_not_answer_fails_while_mails_are_on(
    alone: None, heartbit: Command, workspace: Workspace
) -> None:
    with socket.socket() as closed:  # bound, but not listening
        closed.bind(("127.0.0.1", 0))
        address = {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(closed.getsockname()[1])}
        smtp = {"EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend"}
        mails = {"HEARTBIT_APPROVAL_MAIL": "1"}
        detail, fix = failures(heartbit, **address, **smtp, **mails)["mail"]
        assert detail.startswith(f"127.0.0.1:{address['EMAIL_PORT']} cannot be used, for HEARTBIT_")
        assert "EMAIL_HOST" in fix
        assert "mail" not in failures(heartbit, **smtp)
    with smtp_server(user="ada", password="right") as server:
        there = {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(server.port), **smtp}
        assert "mail" not in failures(heartbit, **there)
        ada = User.objects.create_user(f"ada-{secrets_of_python.token_hex(4)}")
        Membership.objects.create(workspace=workspace, user=ada, role=Role.OPERATOR)
        ended = heartbit("doctor", "--json", env={**there, "HEARTBIT_APPROVAL_MAIL": "1"})
        asked = [one for one in ended.json["checks"] if one["name"] == "approval mail"]
        shown = f"in {workspace.slug} no mail asks {ada.username}: they have no address"
        assert shown in [one["detail"] for one in asked]
        login = {"EMAIL_HOST_USER": "ada", "EMAIL_HOST_PASSWORD": "wrong"}
        assert "mail" in failures(heartbit, **there, **login)


def test_a_default_model_without_a_key_fails_and_says_who_set_it(
    alone: None, heartbit: Command, workspace: Workspace
) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(default_model="gemini:x")
    detail, fix = failures(heartbit)["default model"]
    assert f"{workspace.slug}: gemini:x (set by the workspace): The provider gemini ne" in detail
    assert "[provider]" in fix
    ended = heartbit("doctor", "--json", env={"HEARTBIT_PROVIDER": "openai"})
    shown = [check for check in ended.json["checks"] if check["name"] == "default model"]
    text = (
        f"{workspace.slug}: openai:gpt-6-sol (set by HEARTBIT_PROVIDER instead of the workspace's"
    )
    assert any(check["status"] == "ok" and text in check["detail"] for check in shown)


def test_models_that_have_no_tables_fail_until_the_command_that_is_said_was_run(
    alone: None, heartbit: Command, tmp_path: Path
) -> None:
    label = f"shop{secrets_of_python.token_hex(4)}"
    (tmp_path / label).mkdir()
    (tmp_path / label / "__init__.py").write_text("")
    model = "class Order(models.Model):\n    pass\n"
    (tmp_path / label / "models.py").write_text(f"from django.db import models\n\n\n{model}")
    app = {"PYTHONPATH": str(tmp_path), "HEARTBIT_EXTRA_APPS": label}
    detail, fix = failures(heartbit, **app)["migrations"]
    assert detail == f"the app {label}: it has no migrations, and no table for {label}.Order"
    program, *arguments = shlex.split(fix.split("`")[1])
    command = [str(Path(sys.executable).parent / program), *arguments]
    subprocess.run(command, check=True, env={**os.environ, **app}, capture_output=True)
    assert heartbit("status", env=app).code == 0
    assert "migrations" not in failures(heartbit, **app)
    (tmp_path / label / "models.py").write_text(
        f"from django.db import models\n\n\n{model}    name = models.TextField(default='')\n"
    )
    assert failures(heartbit, **app)["migrations"][0].endswith("models differ from its migrations")
