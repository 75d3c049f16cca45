"""JSON values that agents and programs share under keys: checked before they are stored."""

from __future__ import annotations

import json
from typing import Any, Final

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import clean_json

MOST_CHARACTERS: Final = 20_000


class InvalidValueError(HeartbitError):
    """The value is too long, or not a JSON value that can be stored."""

    field = "value"


def check_value(value: object) -> Any:
    """Return a value as it is stored.

    Raises:
        InvalidValueError: It is longer than 20,000 characters: of a text, else of its JSON.
        UntrustedJSONError: A part is not a JSON value that can be stored.
    """
    clean = clean_json(value)
    length = len(value_text(clean))
    if length > MOST_CHARACTERS:
        raise InvalidValueError(
            f"The value has {length:,} characters, and at most {MOST_CHARACTERS:,} are stored: "
            "store a part of it, or a file's name."
        )
    return clean


def value_text(value: Any) -> str:
    """Return a value as text: itself, or its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
