"""Options that take JSON. No Django."""

from __future__ import annotations

from typing import Any

import typer

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.terminal.errors import UsageError


def json_object(text: str, option: str, example: str) -> dict[str, Any]:
    """Return the JSON object that an option holds.

    Raises:
        CommandError: The text is not a JSON object; the sentence has the example.
    """
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise UsageError(f"{option} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} takes a JSON object, such as '{example}'.")
    return value


def json_option(flag: str, example: str = "{}", text: str = "") -> Any:
    """Return an option that takes a JSON object; its help is the text, or else the field's."""
    return typer.Option(
        None,
        flag,
        metavar="JSON",
        help=text or None,
        parser=lambda value: json_object(value, flag, example) if value else None,
    )
