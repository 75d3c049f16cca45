"""Folders of files, named as people name them in a shell: from where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbit_site.base.archives import ArchiveLimits, RefusedFilesError, read_folder

LIMITS = ArchiveLimits(files=10, file_bytes=100, bytes=1_000)


@pytest.fixture
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside the present one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("Be kind.")
    (folder / "scripts/a.py").write_text("1")
    return folder


@pytest.mark.parametrize("place", ["../skill", "../here/../skill", "./../skill/"])
def test_a_relative_folder_is_read_as_an_absolute_one_is(skill: Path, place: str) -> None:
    expected = {"SKILL.md": b"Be kind.", "scripts/a.py": b"1"}
    assert read_folder(skill, LIMITS) == read_folder(Path(place), LIMITS) == expected


def test_the_present_folder_is_read(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(skill)
    assert set(read_folder(Path(), LIMITS)) == {"SKILL.md", "scripts/a.py"}


def test_a_link_in_a_relative_folder_is_named(skill: Path) -> None:
    (skill / "scripts/away").symlink_to("/etc/hostname")
    with pytest.raises(RefusedFilesError, match=r"^scripts/away is a link"):
        read_folder(Path("../skill"), LIMITS)
