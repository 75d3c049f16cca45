"""The checks that need no Django: the environment, the keys, the directory of the state."""

from __future__ import annotations

import difflib
import os
import stat
from typing import Final

from heartbit_site.base import variables
from heartbit_site.cli.doctor.check import Check
from heartbit_site.cli.installation.services import wanted
from heartbit_site.cli.installation.startup import Starting
from heartbit_site.embedded import layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import Environment

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
        found.append(Check("environment", "warn", detail, f"{fix}README.md lists all variables."))
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
