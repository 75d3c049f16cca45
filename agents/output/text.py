"""Structured answers as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue


def as_text(value: JSONValue) -> str:
    """Return a string unchanged, any other value as indented JSON with sorted names.

    Equal values give equal texts: ``jsonb`` does not keep the order of names.
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
