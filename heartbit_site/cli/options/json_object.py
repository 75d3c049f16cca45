"""Options that take JSON. Pure."""

from __future__ import annotations

from typing import Any

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
