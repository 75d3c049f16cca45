"""A structured answer for surfaces that show only text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue


def as_text(value: JSONValue) -> str:
    """The value as indented JSON, names sorted; a text as it is.

    The same value gives the same text wherever it was kept: ``jsonb`` does not keep names in order.
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
