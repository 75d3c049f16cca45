"""Targets of deliveries, as options name them. No Django."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import CommandError, UsageError
from heartbit_site.cli.terminal.output import NAME_WIDTH, listed, one_line
from heartbit_site.contract.webhooks import LIST_WEBHOOKS

SHOWN: Final = 10  # names in a sentence
LONGEST_NUMBER: Final = 19  # digits of a row's id


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Options that name where results are delivered."""

    email: list[str] = common.option(
        "--deliver-email ADDRESS", "Mail each result to this address; may be repeated.", []
    )
    webhook: list[str] = common.option(
        "--deliver-webhook WEBHOOK",
        "Send each result to this webhook (its name or number); may be repeated.",
        [],
    )
    artifact: list[str] = common.option(
        "--deliver-artifact NAME",
        "Keep each result as this artifact of its run; may be repeated.",
        [],
    )

    drive: list[str] = common.option(
        "--deliver-drive FILE",
        "Write each result to this file of the drive, such as reports/{date}.md; may be repeated.",
        [],
    )

    def given(self, backend: Backend) -> dict[str, Any]:
        """Return the targets as the setting `deliver` of a body, if there are any.

        Raises:
            CommandError: There is no webhook of a name, or there are several.
        """
        targets = [
            *([{"kind": "email", "to": self.email}] if self.email else []),
            *({"kind": "webhook", "endpoint": _webhook(backend, one)} for one in self.webhook),
            *({"kind": "artifact", "name": name} for name in self.artifact),
            *({"kind": "drive", "file": name} for name in self.drive),
        ]
        return {"deliver": targets} if targets else {}


def no_such(noun: str, name: str, names: Iterable[str]) -> CommandError:
    """Return the error for a name that no row has; it lists the first names that there are."""
    known = ", ".join([one_line(one, NAME_WIDTH) for one in names][:SHOWN]) or "none yet"
    return UsageError(f"There is no {noun} {one_line(name, NAME_WIDTH)!r}: there are {known}.")


class Named(Protocol):
    """Something with a number and a name."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """Its name."""


N = TypeVar("N", bound=Named)


def named(noun: str, name: str, rows: Sequence[N]) -> list[N]:
    """Return the rows with a name, else the one with that number.

    Raises:
        UsageError: There is none; the sentence names those there are.
    """
    by_name = [row for row in rows if row.name == name]
    found = by_name or [row for row in rows if str(row.id) == name]
    if not found:
        raise no_such(noun, name, (row.name for row in rows))
    return found


def _webhook(backend: Backend, text: str) -> int:
    """Return the number of a webhook; a number is taken as it is."""
    if text.isascii() and text.isdecimal() and len(text) < LONGEST_NUMBER:
        return int(text)
    found = backend.every(LIST_WEBHOOKS).webhooks
    fitting = [row.id for row in found if row.name == text]
    if not fitting:
        raise no_such("webhook", text, (row.name for row in found))
    if len(fitting) > 1:
        raise UsageError(
            f"Several webhooks are called {one_line(text, NAME_WIDTH)}: give the number, one of "
            f"{listed([str(number) for number in fitting])}."
        )
    return fitting[0]
