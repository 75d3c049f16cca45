"""Each failure is one sentence: what, where and how to mend it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from heartbit_site.embedded import binaries, client, identity
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.identity import ServerUser
from heartbit_site.embedded.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def test_a_path_too_long_for_a_socket(short_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="too long for a unix socket"):
        client.ensure({"valkey"}, StateDirectory(short_path / ("x" * 100)))


def test_a_path_that_is_a_file(short_path: Path) -> None:
    (short_path / "file").write_text("")
    with pytest.raises(
        EmbeddedError, match=r"Cannot use .*: set HEARTBIT_STATE_DIR to a directory"
    ):
        client.ensure({"valkey"}, StateDirectory(short_path / "file"))


@needs_root
def test_a_directory_of_somebody_else(short_path: Path) -> None:
    other = short_path / "other"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with pytest.raises(EmbeddedError, match="belongs to the user id 65534 and you are 0"):
        client.ensure({"valkey"}, StateDirectory(other))
    assert list(other.iterdir()) == []


@needs_root
def test_a_parent_closed_to_the_server_user(fresh_state: StateDirectory) -> None:
    state = fresh_state
    closed = state.path.parent
    closed.chmod(0o700)
    with pytest.raises(
        EmbeddedError, match=f"may not pass through {closed}: set HEARTBIT_STATE_DIR"
    ):
        client.ensure({"postgres"}, state)
    assert closed.stat().st_mode & 0o777 == 0o700


def test_data_of_another_major_version(state: StateDirectory) -> None:
    client.ensure({"postgres"}, state)
    client.stop(state)
    version = state.data("postgres") / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(EmbeddedError, match=r"from PostgreSQL 17 and the installed server is 18: "):
        client.ensure({"postgres"}, state)
    version.write_text("18\n")


def test_a_server_that_does_not_start_is_quoted(state: StateDirectory) -> None:
    client.ensure({"postgres"}, state)
    client.stop(state)
    settings = state.data("postgres") / "postgresql.auto.conf"
    settings.write_text("shared_buffers = 'many'\n")
    with pytest.raises(
        EmbeddedError, match=r"PostgreSQL did not start: .*(FATAL|shared_buffers).*log: "
    ):
        client.ensure({"postgres"}, state)
    settings.write_text("")


def test_a_missing_wheel(state: StateDirectory) -> None:
    user = ServerUser("u", 1, 1, owner="u")
    with pytest.raises(EmbeddedError, match="no-such-wheel"):
        binaries.provide("no-such-wheel", state, user)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(EmbeddedError, match="user id 54321 has no name in /etc/passwd"):
        identity.server_user()


@pytest.fixture
def tiny_disk(short_path: Path) -> Iterator[Path]:
    disk = short_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m,mode=755", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@needs_root
@pytest.mark.parametrize("free_mib", [1, 20])
def test_a_full_disk(tiny_disk: Path, free_mib: int) -> None:
    """The first size fails while the programs are copied, the second in initdb."""
    state = StateDirectory(tiny_disk / "s")
    programs = 44 if free_mib == 1 else 0
    (tiny_disk / "filler").write_bytes(b"x" * programs * 2**20)
    try:
        with pytest.raises(EmbeddedError, match=rf"The disk that holds {state.path} is full: free"):
            client.ensure({"postgres"}, state)
    finally:
        client.release()
        client.stop(state)
