"""Targets of deliveries, as options name them and as people read them. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.cli.errors import CommandError, UsageError
from heartbit_site.cli.output import listed, one_line
from heartbit_site.contract.webhooks import LIST_WEBHOOKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heartbit_site.cli.backend import Backend

    Target = dict[str, Any]

SHOWN: Final = 10  # names in a sentence
NAME_WIDTH: Final = 40
LONGEST_NUMBER: Final = 19  # digits of a row's id


def named_targets(
    emails: Sequence[str], webhooks: Sequence[str], artifacts: Sequence[str]
) -> list[Target]:
    """Return targets as the REST API takes them, but for webhooks, which still have their names."""
    mail: list[Target] = [{"kind": "email", "to": list(emails)}] if emails else []
    hooks = [{"kind": "webhook", "endpoint": name} for name in webhooks]
    return [*mail, *hooks, *({"kind": "artifact", "name": name} for name in artifacts)]


def with_numbers(backend: Backend, targets: Iterable[Target]) -> list[Target]:
    """Return targets with the numbers of webhooks instead of their names.

    Raises:
        CommandError: There is no webhook of a name, or there are several.
    """
    return [
        {**target, "endpoint": _webhook(backend, target["endpoint"])}
        if target["kind"] == "webhook"
        else target
        for target in targets
    ]


def no_such(noun: str, name: str, names: Iterable[str]) -> CommandError:
    """Return the error for a name that no row has; it lists the first names that there are."""
    known = ", ".join([one_line(one, NAME_WIDTH) for one in names][:SHOWN]) or "none yet"
    return UsageError(f"There is no {noun} {one_line(name, NAME_WIDTH)!r}: there are {known}.")


def target_text(target: Mapping[str, Any]) -> str:
    """Return a target as text for people."""
    match target:
        case {"kind": "email", "to": list() as addresses}:
            return ", ".join(map(str, addresses))
        case {"kind": "webhook", "endpoint": endpoint}:
            return f"webhook {endpoint}"
        case {"kind": "artifact", "name": name}:
            return f"artifact {name}"
    return str(target.get("kind", ""))


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
