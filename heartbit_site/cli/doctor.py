"""The installation's check-up: each check is one function; none of them changes anything."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
from dataclasses import dataclass
from typing import Final, Literal

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.services import wanted
from heartbit_site.cli.startup import Starting, set_up_django
from heartbit_site.embedded import layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import Environment, problems, read

KEY_FILES: Final = ("secret_key", "encryption_keys")


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


def examine() -> list[Check]:
    """Look at everything that can be looked at, in the order in which it depends on each other."""
    wrong = problems()
    if wrong:
        return [Check("environment", "fail", sentence) for sentence in wrong]
    environment = read()
    checks = [_variables(), *_unknown_variables(), _state(environment)]
    if checks[-1].status == "fail":
        return checks
    from heartbit_site.cli.doctor_disk import check_disks  # noqa: PLC0415  it needs ``Check``

    disks = check_disks(environment.state.path)
    checks += [_keys(environment), disks, _embedded(environment)]
    try:
        set_up_django(environment)
    except (ConfigurationError, EmbeddedError) as error:
        return [*checks, Check("settings", "fail", str(error))]
    from django.db import DatabaseError  # noqa: PLC0415  as below

    from heartbit_site.cli import (  # noqa: PLC0415  they need Django set up
        doctor_mail,
        doctor_models,
        doctor_services,
        doctor_work,
    )

    modules = (doctor_services, doctor_mail, doctor_models, doctor_work)
    for look in (look for module in modules for look in module.LOOKS):
        with contextlib.suppress(DatabaseError):  # no tables yet, or no database: said above
            checks += look()
    return checks


def _variables() -> Check:
    names = [each.name for each in variables.VARIABLES if os.environ.get(each.name, "").strip()]
    return Check("environment", "ok", f"set: {', '.join(names)}" if names else "nothing is set")


def _unknown_variables() -> list[Check]:
    """Return a warning for each variable that is named like ours and is none: it has no effect."""
    known = [each.name for each in variables.VARIABLES]
    found = []
    for name in variables.unknown():
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"Did you mean {near[0]}? " if near else ""
        detail = f"{name} is no variable of Heartbit: it has no effect"
        found.append(Check("environment", "warn", detail, f"{fix}README.md lists all variables."))
    return found


def _state(environment: Environment) -> Check:
    state = environment.state
    try:
        layout.create(state)
    except EmbeddedError as error:
        return Check("state directory", "fail", str(error))
    return Check("state directory", "ok", str(state.path))


def _keys(environment: Environment) -> Check:
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


def _embedded(environment: Environment) -> Check:
    if not environment.embedded:
        return Check("embedded", "ok", "not needed: DATABASE_URL and REDIS_URL are set")
    names = ", ".join(sorted(environment.embedded))
    try:
        Starting(environment, wanted(environment)).wait()
    except EmbeddedError as error:
        return Check("embedded", "fail", str(error))
    return Check("embedded", "ok", f"{names} run")
