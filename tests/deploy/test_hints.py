"""Install commands: named in one module, and never the index's package of the same name."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("checkout", [ROOT, None], ids=["checkout", "wheel"])
def test_every_command_names_the_checkout_or_the_wheels_file(
    checkout: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "CHECKOUT", checkout)
    commands = [
        installation.base_command(),
        installation.local_model_command(),
        installation.providers_command(),
    ]
    for command in commands:
        assert not FROM_INDEX.search(command), command
    by_make = [command for command in commands if command.startswith("make ")]
    assert len(by_make) == (2 if checkout else 0)
    assert any(".whl" in command for command in commands) is (checkout is None)


def test_here_everything_is_read_from_the_checkout() -> None:
    assert ROOT == installation.CHECKOUT
    assert installation.TEMPLATES == ROOT / "templates"
