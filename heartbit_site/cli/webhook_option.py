"""Webhooks as options name them: by name, or by number. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.output import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN: Final = 10
NAME_WIDTH: Final = 40
LONGEST_NUMBER: Final = 19  # digits of a row's id


def find_webhook(webhooks: Callable[[], list[dict[str, Any]]], text: str) -> int:
    """Return the number of a webhook; a number is taken as it is.

    Args:
        webhooks: Lists the webhooks there are, each with `webhook` and `name`.
        text: The name, or the number.

    Raises:
        CommandError: There is none of that name, or there are several.
    """
    if text.isascii() and text.isdecimal() and len(text) < LONGEST_NUMBER:
        return int(text)
    found = webhooks()
    fitting = [row["webhook"] for row in found if row["name"] == text]
    if len(fitting) == 1:
        return int(fitting[0])
    if fitting:
        numbers = f"{', '.join(map(str, fitting[:-1]))} and {fitting[-1]}"
        raise CommandError(
            f"Several webhooks are called {one_line(text, NAME_WIDTH)}: give the number, one of "
            f"{numbers}.",
            USAGE,
        )
    names = ", ".join(one_line(row["name"], NAME_WIDTH) for row in found[:SHOWN]) or "none yet"
    raise CommandError(
        f"There is no webhook {one_line(text, NAME_WIDTH)!r}: there are {names}.", USAGE
    )
