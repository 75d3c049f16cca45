"""What the Makefile installs from Debian, on a machine with just what each test puts there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = ROOT / "tests/system_packages.sh"
PACKAGE: Final = "chromium-headless-shell"
#: Each call is noted; an installation that works puts a program of the package's name there.
APT_GET: Final = """#!/bin/sh
echo "$*" >>"{place}/calls"
[ "$1" = update ] || {installs}
"""
PAGE_TEST: Final = """
def test_a_page(browser): assert browser
def test_no_page(): assert True
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that is all of PATH, with a shell and little else: no Chromium, no apt-get."""
    for name in ("sh", "ls", "grep", "touch", "chmod"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    return tmp_path


@pytest.mark.parametrize(
    ("user", "installs", "code", "calls", "says"),
    [
        ("0", 'touch "{place}/$4" && chmod +x "{place}/$4"', 0, 2, "Installing"),
        ("0", "exit 100", 1, 2, f"could not install {PACKAGE}, which pages takes"),
        ("1000", "exit 100", 3, 0, f"Missing for pages: {PACKAGE}. Run: sudo apt-get install -y"),
        ("0", None, 3, 0, f"Missing for pages: {PACKAGE}. Run: sudo apt-get install -y {PACKAGE}"),
    ],
    ids=["root", "root, and apt-get fails", "another user", "no apt-get"],
)
def test_what_is_missing_is_installed_or_named(
    place: Path, user: str, installs: str | None, code: int, calls: int, says: str
) -> None:
    _program(place / "id", f"#!/bin/sh\necho {user}\n")
    if installs is not None:
        installs = installs.format(place=place)
        _program(place / "apt-get", APT_GET.format(place=place, installs=installs))
    ended = _look(place)
    assert ended.returncode == code, ended
    assert says in ended.stdout + ended.stderr
    noted = place / "calls"
    made = noted.read_text().splitlines() if noted.exists() else []
    assert made == ["update -qq", f"install -qq -y {PACKAGE}"][:calls]
    if code == 0:
        assert _look(place).stdout == ""  # and nothing is installed twice


def test_tests_of_pages_are_skipped_and_counted_without_chromium(place: Path) -> None:
    file = place / "test_pages.py"
    file.write_text(PAGE_TEST)
    file.with_name("conftest.py").write_text("from tests.conftest import browser  # noqa: F401\n")
    command = [sys.executable, "-m", "pytest", f"--rootdir={place}", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), str(file)],
        cwd=ROOT,
        env={**os.environ, "PATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed, 1 skipped" in ended.stdout.splitlines()[-1]
    assert f"sudo apt-get install {PACKAGE}" in ended.stdout


def test_ci_installs_only_what_make_cannot() -> None:
    text = (ROOT / ".ci/run").read_text()
    assert set(_between(text, "missing+=(", ")")) == {"make", "python3", "python3-venv"}


def test_ci_plays_what_make_test_leaves_out() -> None:
    makefile, text = (ROOT / "Makefile").read_text(), (ROOT / ".ci/run").read_text()
    [command] = [line for line in makefile.splitlines() if "$(RUNNER)" in line and "RIGS:%" in line]
    targets = {"RIGS": "rigs", "AUDITS": "AUDITS= ", "SOURCES": "check"}  # or leaves nothing out
    assert set(_between(command, "$(", ":%")) >= set(targets)
    assert all(re.search(rf"^make .*\b{target}", text, re.MULTILINE) for target in targets.values())
    assert "sources" in re.findall(r"^check: (.*?) ##", makefile, re.MULTILINE)[0].split()
    for name in targets:
        rest = makefile.partition(f"\n{name} := ")[2].replace("\\\n", " ")
        assert all((ROOT / path).exists() for path in rest.partition("\n")[0].split()), name


def _between(text: str, start: str, end: str) -> list[str]:
    return [part.partition(end)[0] for part in text.split(start)[1:]]


def _look(place: Path) -> subprocess.CompletedProcess[str]:
    command = [shutil.which("sh") or "sh", str(SCRIPT), "pages", PACKAGE]
    return subprocess.run(
        command, env={"PATH": str(place)}, capture_output=True, text=True, check=False
    )


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
