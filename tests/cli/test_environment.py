"""A wrong environment, and an app of one's own that cannot be imported, wherever a process starts.

What each variable refuses is in `tests/base/test_variables.py`.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from heartbit_site.cli.terminal import errors
from tests.command import NO_MODEL, ROOT, Ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Command

UVICORN = ("-m", "uvicorn", "heartbit_site.asgi:application", "--port", "0", "--lifespan", "off")
ENTRIES = {"web": UVICORN, "manage": ("manage.py", "check")}
WRONG = {
    "HEARTBIT_HTTP_ALLOWLIST": "http://x",
    "HEARTBIT_LEASE_SECONDS": "abc",
    "HEARTBIT_PROVIDER": "opnai",
    "HEARTBIT_MODEL": "bogus:xx",
    "DJANGO_SETTINGS_MODULE": "nosuch",
    "OPENAI_BASE_URL": "nowhere",
    "HEARTBIT_EXTRA_APPS": "no_such_app",
}


def start(entry: str, env: dict[str, str]) -> Ended:
    ended = subprocess.run(
        [sys.executable, *ENTRIES[entry]],
        env={**os.environ, **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def refused(ended: Ended, *parts: str) -> None:
    *progress, sentence = ended.err.splitlines()
    assert all(line.startswith("Starting PostgreSQL") for line in progress), ended.err
    assert (ended.code, ended.out, sentence.partition(" ")[0]) == (3, "", "heartbit:"), ended
    assert all(part in sentence for part in parts), sentence


@pytest.mark.parametrize("name", ["HEARTBIT_HTTP_ALLOWLIST", "OPENAI_BASE_URL"])
def test_a_worker_does_not_start(heartbit: Command, name: str) -> None:
    refused(heartbit("serve", env={name: WRONG[name]}), name, WRONG[name])


def test_a_web_server_does_not_start() -> None:
    refused(start("web", {"HEARTBIT_PROVIDER": "opnai"}), "HEARTBIT_PROVIDER", "opnai")
    refused(start("web", {"DJANGO_SETTINGS_MODULE": "nosuch"}), "DJANGO_SETTINGS_MODULE", "nosuch")


@pytest.mark.parametrize("name", WRONG)
def test_a_command_does_not_start(heartbit: Command, name: str) -> None:
    ended = heartbit("runs", env={**NO_MODEL, name: WRONG[name]})
    refused(ended, name, WRONG[name].partition(":xx")[0])


@pytest.mark.parametrize(
    ("check", "name"),
    [("default model", "HEARTBIT_MODEL"), ("settings", "DJANGO_SETTINGS_MODULE")],
)
def test_doctor_says_it_too(heartbit: Command, check: str, name: str) -> None:
    ended = heartbit("doctor", "--json", env={**NO_MODEL, name: WRONG[name]})
    assert (ended.code, ended.err) == (1, "")
    [found] = [each for each in ended.json["checks"] if each["name"] == check]
    assert (found["status"], name in found["detail"]) == ("fail", True)
    assert WRONG[name].partition(":")[0] in found["detail"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("import nothing_like_it\n", "nothing_like_it"),
        ("def f(:\n", "SyntaxError"),
        ("DEBUG = False\n", "not Heartbit's settings"),
    ],
)
def test_settings_of_ones_own_that_cannot_be_used_are_named(
    heartbit: Command, tmp_path: Path, text: str, part: str
) -> None:
    (tmp_path / "own_settings.py").write_text(text)
    env = {"DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(tmp_path)}
    refused(heartbit("runs", env=env), "DJANGO_SETTINGS_MODULE", "own_settings", part)


def test_a_management_command_does_not_start() -> None:
    refused(start("manage", {"HEARTBIT_LEASE_SECONDS": "abc"}), "HEARTBIT_LEASE_SECONDS", "abc")
    refused(start("manage", {"DJANGO_SETTINGS_MODULE": "nosuch"}), "DJANGO_SETTINGS_MODULE")


def test_doctor_lists_every_variable_that_cannot_be_used(heartbit: Command) -> None:
    env = {
        "HEARTBIT_HTTP_ALLOWLIST": "http://x",
        "HEARTBIT_LEASE_SECONDS": "abc",
        "EMAIL_PORT": "x",
    }
    ended = heartbit("doctor", "--json", env=env)
    assert (ended.code, ended.err) == (1, "")
    checks = ended.json["checks"]
    assert {check["status"] for check in checks} == {"fail"}
    for name, value in env.items():
        assert [check for check in checks if name in check["detail"] and value in check["detail"]]


@pytest.mark.parametrize(
    ("name", "url", "option"),
    [
        ("REDIS_URL", "redis://:hush@h/0?socket_timeout=abc", "socket_timeout"),
        ("DATABASE_URL", "postgresql://u:hush@h/d?foo=1", "foo"),
    ],
)
def test_a_bad_option_of_an_address_is_named_at_the_start_and_by_doctor(
    heartbit: Command, name: str, url: str, option: str
) -> None:
    refused(heartbit("runs", env={name: url}), f"{name} cannot be used: its option '{option}'")
    ended = heartbit("doctor", "--json", env={name: url})
    assert ended.code == 1
    [check] = ended.json["checks"]
    assert (check["status"], f"its option '{option}'" in check["detail"]) == ("fail", True)
    assert "hush" not in check["detail"]


def test_a_password_that_is_not_encoded_is_refused_and_never_shown(heartbit: Command) -> None:
    env = {"DATABASE_URL": "postgresql://u:hush%zz@h/d"}
    refused(heartbit("runs", env=env), "DATABASE_URL cannot be used: write special characters")
    ended = heartbit("doctor", "--json", env=env)
    assert (ended.code, "hush" in ended.out + ended.err) == (1, False)


def test_doctor_names_the_address_of_a_provider_that_is_none(heartbit: Command) -> None:
    ended = heartbit("doctor", "--json", env={"COMPATIBLE_BASE_URL": "nowhere"})
    assert (ended.code, ended.err) == (1, "")
    assert [
        check
        for check in ended.json["checks"]
        if check["status"] == "fail" and "COMPATIBLE_BASE_URL is 'nowhere'" in check["detail"]
    ]


@pytest.mark.parametrize(
    ("files", "module", "line", "reason"),
    [
        ({"__init__.py": "import nothing_like_it\n"}, "shop", 1, "nothing_like_it"),
        ({"agent_tools.py": "\n\nx = 1 / 0\n"}, "shop.agent_tools", 3, "ZeroDivisionError"),
        ({"models.py": "\ndef f(:\n"}, "shop.models", 2, "SyntaxError"),
        (
            {"agent_tools.py": "import shop.deep\n", "deep.py": "\nunknown\n"},
            "shop.deep",
            2,
            "name",
        ),
    ],
    ids=["package", "tools", "syntax", "below"],
)
def test_an_own_app_that_cannot_be_imported_is_named_with_its_line(
    heartbit: Command, tmp_path: Path, files: dict[str, str], module: str, line: int, reason: str
) -> None:
    (tmp_path / "shop").mkdir()
    for name, content in {"__init__.py": "", **files}.items():
        (tmp_path / "shop" / name).write_text(content)
    env = {"HEARTBIT_EXTRA_APPS": "shop", "PYTHONPATH": str(tmp_path)}
    parts = ("HEARTBIT_EXTRA_APPS", f" {module} ", f"line {line}", reason)
    refused(heartbit("agents", env=env), *parts)
    if module == "shop.agent_tools":
        refused(heartbit("serve", env=env), *parts)
        refused(start("web", env), *parts)
        ended = heartbit("doctor", "--json", env=env)
        [check] = [each for each in ended.json["checks"] if each["name"] == "settings"]
        assert (check["status"], f"line {line}" in check["detail"]) == ("fail", True)


@pytest.mark.parametrize("label", ["tools", "agents", "memory", "scheduling"])
def test_an_own_app_with_the_label_of_another_is_told_to_have_one_of_its_own(
    heartbit: Command, tmp_path: Path, label: str
) -> None:
    for package in ("fine", "acme", f"acme/{label}"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    env = {"HEARTBIT_EXTRA_APPS": f"fine,acme.{label}", "PYTHONPATH": str(tmp_path)}
    sentence = f"the app acme.{label} has the label '{label}', which belongs to {label}:"
    refused(heartbit("runs", env=env), "HEARTBIT_EXTRA_APPS", sentence, "`label`", "AppConfig")
    if label == "tools":
        ended = heartbit("doctor", "--json", env=env)
        [check] = [each for each in ended.json["checks"] if each["name"] == "settings"]
        assert (check["status"], sentence in check["detail"]) == ("fail", True)
        (tmp_path / "acme" / label / "apps.py").write_text(
            "from django.apps import AppConfig\n\n\n"
            f"class Own(AppConfig):\n    name = 'acme.{label}'\n    label = 'acme_{label}'\n"
        )
        assert heartbit("runs", env=env).code == 0


def test_a_module_of_an_own_app_that_is_imported_late_is_named_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lateshop").mkdir()
    (tmp_path / "lateshop" / "__init__.py").write_text("def call():\n    return 1 / 0\n")
    (tmp_path / "lateshop" / "tasks.py").write_text("\nimport nothing_like_it\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HEARTBIT_EXTRA_APPS", "lateshop")
    with pytest.raises(ImportError) as caught:
        importlib.import_module("lateshop.tasks")
    found = errors.explain(caught.value)
    assert found is not None
    assert (found[0], "lateshop.tasks" in found[1], "line 2" in found[1]) == (3, True, True)
    with pytest.raises(ZeroDivisionError) as failed:
        importlib.import_module("lateshop").call()
    assert errors.explain(failed.value) is None  # a defect of a call, which has another place
