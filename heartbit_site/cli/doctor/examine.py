"""Checks of the machine and the environment, and all checks in order."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.installation.startup import Starting, set_up_django, wanted
from heartbit_site.embedded import layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import Environment, problems, read


def examine() -> list[Check]:
    """Look at everything that can be looked at, in the order in which it depends on each other."""
    wrong = problems()
    if wrong:
        return [Check("environment", "fail", sentence) for sentence in wrong]
    environment = read()
    checks = [check_variables(), *check_unknown_variables(), check_state(environment)]
    if checks[-1].status == "fail":
        return checks
    disks = check_disks(environment.state.path)
    checks += [check_keys(environment), disks, check_embedded(environment)]
    try:
        set_up_django(environment)
    except (ConfigurationError, EmbeddedError) as error:
        return [*checks, Check("settings", "fail", str(error))]
    from django.db import DatabaseError  # noqa: PLC0415  needs Django set up

    from heartbit_site.cli.doctor import models, services, work  # noqa: PLC0415  as above

    for look in (*services.LOOKS, *work.MAIL, *models.LOOKS, *work.LOOKS):
        with contextlib.suppress(DatabaseError):  # no tables yet, or no database: said above
            checks += look()
    return checks


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check.

    Attributes:
        name: What was looked at.
        status: `warn` is worth knowing, `fail` has to be fixed.
        detail: What was found.
        fix: A step that corrects it; empty if nothing is wrong.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


LITTLE_BYTES: Final = 1_000_000_000
LEAST_BYTES: Final = 100_000_000
LEAST_FILES: Final = 1000
FIX: Final = (
    "Free space there, or let another disk have it (HEARTBIT_STATE_DIR, _ARCHIVE_DIR, _DRIVE)."
)


def check_disks(state: Path) -> Check:
    """Check the disks of the state directory, the archive, agents' files and temporary files."""
    archive, drive = variables.ARCHIVE_DIR.read(), variables.DRIVE.read()
    places = (state, Path(archive or state), Path(drive or state), Path(tempfile.gettempdir()))
    checks = [_check(place) for place in _one_a_disk(map(_there, places))]
    order = {"fail": 0, "warn": 1, "ok": 2}
    return min(checks, key=lambda check: order[check.status])


def _there(path: Path) -> Path:
    """Return the path, or the closest parent that exists: a directory is made when it is needed."""
    return next(place for place in (path, *path.parents) if place.exists())


def _one_a_disk(places: Iterable[Path]) -> list[Path]:
    disks: dict[int, Path] = {}
    for place in places:
        disks.setdefault(place.stat().st_dev, place)
    return list(disks.values())


def _check(place: Path) -> Check:
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if found.f_files and found.f_favail < LEAST_FILES:  # some file systems do not count them
        return Check("disk", "fail", f"{found.f_favail} more files fit at {place}", FIX)
    if free < LEAST_BYTES:
        return Check("disk", "fail", detail, FIX)
    return (
        Check("disk", "warn", detail, FIX) if free < LITTLE_BYTES else Check("disk", "ok", detail)
    )


KEY_FILES: Final = ("secret_key", "encryption_keys")


def check_variables() -> Check:
    """Name the variables that are set."""
    names = [each.name for each in variables.VARIABLES if os.environ.get(each.name, "").strip()]
    return Check("environment", "ok", f"set: {', '.join(names)}" if names else "nothing is set")


def check_unknown_variables() -> list[Check]:
    """Return a warning for each variable that is named like ours and is none: it has no effect."""
    known = [each.name for each in variables.VARIABLES]
    found = []
    for name in variables.unknown():
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"Did you mean {near[0]}? " if near else ""
        detail = f"{name} is no variable of Heartbit: it has no effect"
        found.append(
            Check("environment", "warn", detail, f"{fix}docs/reference/settings.md lists all.")
        )
    return found


def check_state(environment: Environment) -> Check:
    """Check that the directory of the state can be used, and is private."""
    state = environment.state
    try:
        layout.create(state)
    except EmbeddedError as error:
        return Check("state directory", "fail", str(error))
    return Check("state directory", "ok", str(state.path))


def check_keys(environment: Environment) -> Check:
    """Check that only the installation's user can read its keys."""
    found, wrong = [], []
    for name in KEY_FILES:
        path = environment.state.path / name
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            continue  # it is made when it is first needed, or the environment gives it
        except OSError as error:
            return Check("key files", "fail", f"{path} cannot be looked at: {error.strerror}")
        found.append(name)
        if mode & 0o077:
            wrong.append(f"{path} has mode {mode:04o}")
    if wrong:
        files = " ".join(str(environment.state.path / name) for name in found)
        fix = f"Run `chmod 600 {files}`, and change the keys if others could read them."
        return Check("key files", "fail", ", ".join(wrong), fix)
    return Check("key files", "ok", ", ".join(found) or "none kept here yet")


def check_embedded(environment: Environment) -> Check:
    """Name the embedded services and where they listen."""
    if not environment.embedded:
        return Check("embedded", "ok", "not needed: DATABASE_URL and REDIS_URL are set")
    names = ", ".join(sorted(environment.embedded))
    try:
        Starting(environment, wanted(environment)).wait()
    except EmbeddedError as error:
        return Check("embedded", "fail", str(error))
    return Check("embedded", "ok", f"{names} run")
