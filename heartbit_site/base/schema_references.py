"""References within a JSON Schema (``$ref``): JSON Pointers, RFC 6901. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote


def referenced(reference: str, root: Any) -> Any:
    """Return the part of a schema behind a reference such as ``#/$defs/city``; None if missing.

    Args:
        reference: Only its fragment counts; an empty one means the whole schema.
        root: The whole schema.
    """
    part = root
    for escaped in reference.partition("#")[2].split("/")[1:]:
        step = unquote(escaped).replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and step.isdigit() and int(step) < len(part):
            part = part[int(step)]
        else:
            part = part.get(step) if isinstance(part, dict) else None
    return part
