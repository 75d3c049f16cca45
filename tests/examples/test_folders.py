"""Each example is short, has a page with its command, and is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.commands import blocks_of
from tests.examples.folders import EXAMPLES

FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
INDEX = (EXAMPLES / "README.md").read_text()


def test_there_is_no_file_beside_the_folders() -> None:
    assert [path.name for path in EXAMPLES.iterdir() if path.is_file()] == ["README.md"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_example_is_short_listed_and_tested(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".toml")]
    written = [path for path in files if path.parent.name != "migrations"]
    lines = [line for path in written for line in path.read_text().splitlines() if line.strip()]
    assert 0 < len(lines) < 80
    assert f"({folder.name}/README.md)" in INDEX
    assert f'"{folder.name}"' in TESTS, f"{folder.name} has no test"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_page_of_an_example_has_its_command(folder: Path) -> None:
    page = folder / "README.md"
    commands = [typed for typed in blocks_of(page) if typed.words]
    assert any(folder.name in str(typed) or "heartbit" in typed.words for typed in commands)
