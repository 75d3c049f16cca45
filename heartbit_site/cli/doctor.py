"""The installation's check-up: each check is one function; none of them changes anything.

With --json: `{"ok": true, "checks": [{"name": "postgres", "status": "ok" | "note" | "problem",
"detail": "...", "mend": "..."}]}`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rich.console import Console
from rich.text import Text

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli import errors
from heartbit_site.cli.begin import Starting, set_up_django
from heartbit_site.cli.load import load
from heartbit_site.cli.output import clean, write_json
from heartbit_site.cli.services import wanted
from heartbit_site.embedded import layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import Environment, read

if TYPE_CHECKING:
    from collections.abc import Callable

STYLES: Final = {"ok": "green", "note": "yellow", "problem": "red"}
WIDTH: Final = 16


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found.

    Attributes:
        name: What was looked at.
        status: `note` is worth knowing, `problem` has to be mended.
        detail: What was found.
        mend: What to do about it; empty when nothing is to be done.
    """

    name: str
    status: Literal["ok", "note", "problem"]
    detail: str
    mend: str = ""


def doctor(*, as_json: bool) -> int:
    """Check everything; 1 when there is a problem."""
    checks = examine()
    healthy = all(check.status != "problem" for check in checks)
    if as_json:
        write_json({"ok": healthy, "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        _print(checks)
    return errors.OK if healthy else errors.FAILED


def examine() -> list[Check]:
    """Look at everything that can be looked at, in the order in which it depends on each other."""
    try:
        environment = read()
    except ConfigurationError as error:
        return [Check("environment", "problem", str(error))]
    checks = [_state(environment)]
    if checks[0].status == "problem":
        return checks
    checks.append(_embedded(environment))
    try:
        set_up_django(environment)
    except (ConfigurationError, EmbeddedError) as error:
        return [*checks, Check("settings", "problem", str(error))]
    looks: list[Callable[[], list[Check]]] = load("checkup").LOOKS
    for look in looks:
        checks += look()
    return checks


def _state(environment: Environment) -> Check:
    state = environment.state
    try:
        layout.create(state)
    except EmbeddedError as error:
        return Check("state directory", "problem", str(error))
    return Check("state directory", "ok", str(state.path))


def _embedded(environment: Environment) -> Check:
    if not environment.embedded:
        return Check("embedded", "ok", "not needed: DATABASE_URL and REDIS_URL are set")
    names = ", ".join(sorted(environment.embedded))
    try:
        Starting(environment, wanted(environment)).wait()
    except EmbeddedError as error:
        return Check("embedded", "problem", str(error))
    return Check("embedded", "ok", f"{names} run")


def _print(checks: list[Check]) -> None:
    console = Console(highlight=False)
    for check in checks:
        line = Text(f"{check.status:<8}", style=STYLES[check.status])
        line.append(f"{check.name:<{WIDTH}} ", style="bold")
        line.append(clean(check.detail), style="")
        console.print(line, soft_wrap=True)
        if check.mend:
            console.print(Text(f"{'':<8}{'':<{WIDTH}} {clean(check.mend)}"), soft_wrap=True)
