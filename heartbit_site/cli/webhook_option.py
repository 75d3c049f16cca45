"""Webhooks as options name them: by name, or by number. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.output import one_line
from heartbit_site.contract.webhooks import LIST_WEBHOOKS

if TYPE_CHECKING:
    from heartbit_site.cli.backend import Backend

SHOWN: Final = 10
NAME_WIDTH: Final = 40
LONGEST_NUMBER: Final = 19  # digits of a row's id


def find_webhook(backend: Backend, text: str) -> int:
    """Return the number of a webhook; a number is taken as it is.

    Args:
        backend: Where the webhooks are.
        text: The name, or the number.

    Raises:
        CommandError: There is none of that name, or there are several.
    """
    if text.isascii() and text.isdecimal() and len(text) < LONGEST_NUMBER:
        return int(text)
    found = backend.every(LIST_WEBHOOKS).webhooks
    fitting = [row.id for row in found if row.name == text]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        numbers = f"{', '.join(map(str, fitting[:-1]))} and {fitting[-1]}"
        raise CommandError(
            f"Several webhooks are called {one_line(text, NAME_WIDTH)}: give the number, one of "
            f"{numbers}.",
            USAGE,
        )
    names = ", ".join(one_line(row.name, NAME_WIDTH) for row in found[:SHOWN]) or "none yet"
    raise CommandError(
        f"There is no webhook {one_line(text, NAME_WIDTH)!r}: there are {names}.", USAGE
    )
