"""A migrated PostgreSQL data directory that is kept: making one takes four seconds of a processor.

It lies beside pytest's cache, under the hash of all that it is made from, and holds no row of ours.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.core.management import call_command
from django.db import connection, connections

from heartbit_site.bootstrap import attach
from heartbit_site.embedded import client, identity, layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.embedded.state import StateDirectory

ROOT: Final = Path(__file__).parents[1]
KEPT: Final = ROOT / ".pytest_cache" / "clusters"
PACKAGES: Final = ("heartbit_site", "agents", "tools", "memory", "scheduling")
#: In the packages; `install.py` runs the SQL files for the migrations.
MADE_FROM: Final = ("**/migrations/*.py", "**/*.sql", "**/install.py")
#: Settings for the loss of power, which no test plays: a killed server loses nothing without them.
UNSAFE: Final = ("fsync", "full_page_writes")


def provide(state: StateDirectory, *, safe: bool = False) -> None:
    """Give an installation that has never been started migrated tables.

    Args:
        state: Its directory.
        safe: Keep commits through a loss of power, as where it is measured.
    """
    _provide(state)
    if safe:
        settings = state.data("postgres") / "postgresql.auto.conf"
        lines = settings.read_text().splitlines(keepends=True)
        settings.write_text("".join(line for line in lines if not line.startswith(UNSAFE)))


def _provide(state: StateDirectory) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / digest()
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process makes it, the others wait
        if not kept.exists():
            _make(state, kept)
            return
        user = identity.server_user()
        layout.create(state)
        layout.prepare(state, user)
        _copy(kept, state.data("postgres"))


def digest() -> str:
    """Return the hash of what decides how an empty database looks, in hexadecimal."""
    found = hashlib.sha256()
    paths = [ROOT / "requirements.lock", Path(__file__)]
    for package in PACKAGES:
        paths += [path for pattern in MADE_FROM for path in (ROOT / package).glob(pattern)]
    for path in sorted(paths):
        found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


@contextmanager
def durable() -> Iterator[None]:
    """Have the running server keep commits through a loss of power, as where it is measured."""
    _set("on")
    try:
        yield
    finally:
        _set("off")


def _set(value: str) -> None:
    with connection.cursor() as cursor:
        for setting in UNSAFE:
            cursor.execute(f"ALTER SYSTEM SET {setting} = {value}")
        cursor.execute("SELECT pg_reload_conf()")


def _make(state: StateDirectory, kept: Path) -> None:
    attach()
    call_command("migrate", verbosity=0, interactive=False)
    _set("off")
    connections.close_all()
    client.release()
    client.stop(state)
    for old in KEPT.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    unfinished = kept.with_suffix(".unfinished")
    _copy(state.data("postgres"), unfinished)
    unfinished.rename(kept)


def _copy(source: Path, destination: Path) -> None:
    # With owners and modes: root's servers are another user's.
    subprocess.run(["cp", "--archive", "--reflink=auto", source, destination], check=True)
