"""Install commands: named in one module, and never the index's package of the same name."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from heartbit_site.base import installation

ROOT = Path(__file__).parents[2]
HOME = ROOT / "heartbit_site/base/installation.py"
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling", "templates")
#: `heartbit` as pip reads it from an index: no file, no directory, nothing before it.
FROM_INDEX = re.compile(r"""pip install[^`\n]*[\s'"]heartbit(?![-\w./])""")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Dockerfile", ROOT / "Makefile"]
)


def test_only_one_module_names_an_install_command() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.*")]
    texts = {path: path.read_text() for path in files if path.suffix in {".py", ".html", ".js"}}
    assert HOME in texts
    named = [path for path, text in texts.items() if "pip install" in text and path != HOME]
    assert not named


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_installs_another_project(document: Path) -> None:
    assert not FROM_INDEX.findall(document.read_text())


def test_the_pattern_knows_the_index_from_a_file() -> None:
    for bad in (
        "pip install heartbit",
        'pip install "heartbit[providers]"',
        "pip install -U heartbit",
    ):
        assert FROM_INDEX.search(bad), bad
    for good in ("pip install heartbit-0.1.0-py3-none-any.whl", "pip install -e '.[providers]'"):
        assert not FROM_INDEX.search(good), good


@pytest.mark.parametrize(
    ("files", "environment", "by_make", "source"),
    [
        (["pyproject.toml", "Makefile"], "{place}/.venv", 2, "-e '{place}[providers]'"),
        (["pyproject.toml", "Makefile"], "/opt/venv", 0, "-e '{place}[providers]'"),
        (["pyproject.toml"], "/opt/venv", 0, "-e '{place}[providers]'"),
        ([], "/opt/venv", 0, "'heartbit-{version}-py3-none-any.whl[providers]'"),
    ],
    ids=["checkout", "checkout in another environment", "container", "wheel"],
)
def test_every_command_can_be_executed_where_it_is_named(
    files: list[str],
    environment: str,
    by_make: int,
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for file in files:
        (tmp_path / file).touch()
    prefix = environment.format(place=tmp_path)
    monkeypatch.setattr(installation, "CHECKOUT", tmp_path if files else None)
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "executable", f"{prefix}/bin/python")
    commands = [
        installation.base_command(),
        installation.local_model_command(),
        installation.extra_command("providers"),
    ]
    for command in commands:
        assert not FROM_INDEX.search(command), command
        assert command == "make setup" or command.startswith(f"{prefix}/bin/python -m pip install ")
    assert commands.count("make setup") == by_make
    assert commands[2].endswith(source.format(place=tmp_path, version=version("heartbit")))


def test_here_everything_is_read_from_the_checkout() -> None:
    assert ROOT == installation.CHECKOUT
    assert installation.TEMPLATES == ROOT / "templates"
