"""Locks tell who is alive."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from heartbit_site.embedded import locks
from tests.embedded.conftest import wait_until

if TYPE_CHECKING:
    from pathlib import Path


def test_a_lock_ends_with_the_last_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = locks.acquire(path)
    assert lock is not None
    heir = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(lock,),
    )
    os.close(lock)
    assert locks.held(path)
    heir.kill()
    heir.communicate()
    assert not locks.held(path)


def test_a_lock_is_not_inherited_by_programs(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = locks.acquire(path)
    assert lock is not None
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        close_fds=False,
    )
    os.close(lock)
    wait_until(lambda: not locks.held(path))
    child.communicate()


def test_users_share_and_exclude_the_one_who_stops(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    users = [locks.acquire(path, shared=True), locks.acquire(path, shared=True)]
    assert None not in users
    assert locks.acquire(path) is None
    for user in users:
        assert user is not None
        os.close(user)
    stopper = locks.acquire(path)
    assert stopper is not None
    assert locks.acquire(path, shared=True, timeout=0.02) is None
    os.close(stopper)


def test_a_missing_lock_is_not_held(tmp_path: Path) -> None:
    assert not locks.held(tmp_path / "none")
