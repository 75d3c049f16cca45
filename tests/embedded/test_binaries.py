"""Server programs of a wheel, for their owner and for the user that root's servers run as."""

from __future__ import annotations

import importlib
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from heartbit_site.embedded import binaries
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.identity import ServerUser
from heartbit_site.embedded.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN = ServerUser("ann", 1000, 1000, owner="ann")
SEPARATE = ServerUser("heartbit", 999, 999, owner="root")
PACKAGE = "tiny-server"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with a program, a library and what no server needs."""
    site = tmp_path / "site"
    package = site / "tiny_server"
    files = {"__init__.py": "", "bin/serve": "#!/bin/sh\n", "share/a.conf": "a", "include/a.h": ""}
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    (package / "bin/serve").chmod(0o700)
    (package / "share/a.conf").chmod(0o600)
    (site / "tiny_server.libs").mkdir()
    (site / "tiny_server.libs/libtiny.so").write_text("elf")
    release(site, "1.2")
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("tiny_server", None)


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """A state directory, laid out."""
    (tmp_path / "s/bin").mkdir(parents=True)
    return StateDirectory(tmp_path / "s")


def release(site: Path, version: str) -> None:
    metadata = site / "tiny_server-0.dist-info/METADATA"
    metadata.parent.mkdir(exist_ok=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n")
    importlib.invalidate_caches()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_owners_servers_run_from_where_they_were_installed(
    wheel: Path, tmp_path: Path, state: StateDirectory
) -> None:
    assert binaries.provide(PACKAGE, state, OWN) == wheel / "tiny_server"
    assert list((tmp_path / "s/bin").iterdir()) == []


def test_another_users_servers_get_a_copy_that_they_can_execute(
    wheel: Path, state: StateDirectory
) -> None:
    copy = binaries.provide(PACKAGE, state, SEPARATE)
    files = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert files == {"bin/serve", "share/a.conf"}
    assert (mode(copy / "bin/serve"), mode(copy / "share/a.conf")) == (0o755, 0o644)
    assert mode(wheel / "tiny_server/bin/serve") == 0o700, "what was installed is not touched"
    assert (copy.parent / "tiny_server.libs/libtiny.so").is_file()


def test_what_may_be_shared_is_linked_and_not_copied(wheel: Path, state: StateDirectory) -> None:
    (wheel / "tiny_server/bin/serve").chmod(0o755)
    copy = binaries.provide(PACKAGE, state, SEPARATE)
    assert (copy / "bin/serve").samefile(wheel / "tiny_server/bin/serve")


def test_a_copy_is_made_once_a_version_and_the_older_one_goes(
    wheel: Path, state: StateDirectory
) -> None:
    first = binaries.provide(PACKAGE, state, SEPARATE)
    (first / "mark").touch()
    assert binaries.provide(PACKAGE, state, SEPARATE) == first
    assert (first / "mark").exists()
    release(wheel, "1.3")
    second = binaries.provide(PACKAGE, state, SEPARATE)
    assert second != first
    assert not first.exists()
    assert binaries.major_version(PACKAGE) == "1"


@pytest.mark.usefixtures("wheel")
def test_a_copy_that_fails_leaves_nothing_behind(
    tmp_path: Path, state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        binaries.provide(PACKAGE, state, SEPARATE)
    assert list((tmp_path / "s/bin").iterdir()) == []


def test_a_package_that_is_missing_is_named(state: StateDirectory) -> None:
    with pytest.raises(EmbeddedError, match="no-such-server"):
        binaries.provide("no-such-server", state, OWN)
